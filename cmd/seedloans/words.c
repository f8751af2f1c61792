/* SPDX-License-Identifier: MIT */
#include "seedloans/words.h"

#include <stddef.h>

/* The people who ask for work; more are made by numbering these. */
const char *const words_users[] = {
	"oliver", "tracy", "amelia", "ben", "chloe", "daniel", "elena", "felix", "grace",
	"hassan", "irene", "jonas", "keiko", "liam", "maya", "noah", "olga", "pedro", "quinn",
	"rosa", "samir", "tara", "uma", "victor", "wendy", "xavier", "yasmin", "zoe", "adele",
	"bruno", "carla", "dmitri", "esther", "farid", "gloria", "hugo", "ivy", "jamal", "kira",
	"louis", "mina", "nadia", "oscar", "paula", "rene", "sofia", "tomas", "vera", NULL
};

const char *const words_first[] = {
	"James", "Mary", "Robert", "Patricia", "John", "Jennifer", "Michael", "Linda", "David",
	"Elizabeth", "William", "Barbara", "Richard", "Susan", "Joseph", "Jessica", "Thomas",
	"Sarah", "Carlos", "Karen", "Daniel", "Lisa", "Matthew", "Nancy", "Anthony", "Betty",
	"Mark", "Sandra", "Luis", "Ashley", "Steven", "Kimberly", "Andrew", "Emily", "Paul",
	"Donna", "Joshua", "Michelle", "Kenneth", "Carol", "Kevin", "Amanda", "Brian", "Melissa",
	"Wei", "Deborah", "Hiroshi", "Stephanie", "Priya", "Rebecca", "Arjun", "Laura", "Fatima",
	"Helen", "Omar", "Sharon", "Ingrid", "Cynthia", "Bjorn", "Kathleen", "Zoë", "Amy",
	"José", "Angela", NULL
};

const char *const words_last[] = {
	"Smith", "Johnson", "Williams", "Brown", "Jones", "Garcia", "Miller", "Davis",
	"Rodriguez", "Martinez", "Hernandez", "Lopez", "Gonzalez", "Wilson", "Anderson",
	"Thomas", "Taylor", "Moore", "Jackson", "Martin", "Lee", "Perez", "Thompson", "White",
	"Harris", "Sanchez", "Clark", "Ramirez", "Lewis", "Robinson", "Walker", "Young", "Allen",
	"King", "Wright", "Scott", "Torres", "Nguyen", "Hill", "Flores", "Green", "Adams",
	"Nelson", "Baker", "Hall", "Rivera", "Campbell", "Mitchell", "Carter", "Roberts",
	"Gomez", "Phillips", "Evans", "Turner", "Diaz", "Parker", "Cruz", "Edwards", "Collins",
	"Reyes", "Stewart", "Morris", "Morales", "Murphy", "Cook", "Rogers", "Gutierrez",
	"Ortiz", "Morgan", "Cooper", "Peterson", "Bailey", "Reed", "Kelly", "Howard", "Ramos",
	"Kim", "Cox", "Ward", "Richardson", "Watson", "Brooks", "Chavez", "Wood", "Bennett",
	"Gray", "Mendoza", "Ruiz", "Hughes", "Price", "Alvarez", "Castillo", "Sanders", "Patel",
	"Myers", "Long", "Ross", "Foster", "Jiménez", "O'Brien", "Müller", NULL
};

const char *const words_trade[] = {
	"Bakery", "Roofing", "Auto Repair", "Dental Care", "Landscaping", "Plumbing",
	"Coffee Roasters", "Fitness", "Trucking", "Hardware", "Florists", "Cabinetry",
	"Veterinary Clinic", "Printing", "Brewing", "Day Care", NULL
};

const struct place words_places[] = {
	{ "New York", "NY" }, { "Los Angeles", "CA" }, { "Chicago", "IL" }, { "Houston", "TX" },
	{ "Phoenix", "AZ" }, { "Philadelphia", "PA" }, { "San Antonio", "TX" },
	{ "San Diego", "CA" }, { "Dallas", "TX" }, { "Jacksonville", "FL" },
	{ "Columbus", "OH" }, { "Charlotte", "NC" }, { "Indianapolis", "IN" },
	{ "Seattle", "WA" }, { "Denver", "CO" }, { "Boston", "MA" }, { "Nashville", "TN" },
	{ "Portland", "OR" }, { "Las Vegas", "NV" }, { "Detroit", "MI" }, { "Memphis", "TN" },
	{ "Louisville", "KY" }, { "Baltimore", "MD" }, { "Milwaukee", "WI" },
	{ "Albuquerque", "NM" }, { "Tucson", "AZ" }, { "Fresno", "CA" }, { "Sacramento", "CA" },
	{ "Kansas City", "MO" }, { "Atlanta", "GA" }, { "Omaha", "NE" }, { "Raleigh", "NC" },
	{ "Miami", "FL" }, { "Cleveland", "OH" }, { "Tulsa", "OK" }, { "Oakland", "CA" },
	{ "Minneapolis", "MN" }, { "Wichita", "KS" }, { "Honolulu", "HI" },
	{ "Anchorage", "AK" }, { "Des Moines", "IA" }, { "Boise", "ID" }, { "Richmond", "VA" },
	{ "Burlington", "VT" }, { "Little Rock", "AR" }, { "Fargo", "ND" },
	{ "Sioux Falls", "SD" }, { "Billings", "MT" }, { "Cheyenne", "WY" },
	{ "Charleston", "WV" }, { "Providence", "RI" }, { "Manchester", "NH" },
	{ "Bangor", "ME" }, { "Hartford", "CT" }, { "Newark", "NJ" }, { "Wilmington", "DE" },
	{ "Birmingham", "AL" }, { "Jackson", "MS" }, { "Baton Rouge", "LA" },
	{ "Columbia", "SC" }, { "Salt Lake City", "UT" },
	{ NULL, NULL }
};

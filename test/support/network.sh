# shellcheck shell=bash
# Network namespaces, each behind a cable of its own that can be cut. Source it. The caller names
# for each space its card here, and the addresses at both ends of the cable. Only root can make
# them, and not everywhere.
declare -A card=() here=() there=()

make_space()
{
	ip netns add "$1" &&
		ip link add "${card[$1]}" type veth peer name lockq netns "$1" &&
		ip addr add "${here[$1]}/30" dev "${card[$1]}" &&
		ip link set "${card[$1]}" up &&
		ip -n "$1" addr add "${there[$1]}/30" dev lockq &&
		ip -n "$1" link set lockq up
}

remove_space()
{
	ip link del "${card[$1]}" || true
	ip netns del "$1"
} 2>/dev/null

# cut_cable SPACE: packets of both sides go to nobody, so neither gets an ICMP error or a reset.
cut_cable()
{
	ip neigh replace "${there[$1]}" lladdr 02:00:00:00:00:01 nud permanent dev "${card[$1]}"
	ip -n "$1" neigh replace "${here[$1]}" lladdr 02:00:00:00:00:01 nud permanent dev lockq
}

# lose_packets SPACE PERCENT: so many of what comes and goes there, by chance.
lose_packets()
{
	ip netns exec "$1" nft -f - <<EOF
table ip loss {
	chain comes {
		type filter hook input priority 0
		numgen random mod 100 < $2 drop
	}
	chain goes {
		type filter hook output priority 0
		numgen random mod 100 < $2 drop
	}
}
EOF
}

lose_none()
{
	ip netns exec "$1" nft delete table ip loss
}

mend_cable()
{
	ip neigh del "${there[$1]}" dev "${card[$1]}"
	ip -n "$1" neigh del "${here[$1]}" dev lockq
}

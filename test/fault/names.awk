# Reads `nm -u` of the library, and prints which functions get another name in the faulty copy, as
# objcopy --redefine-syms wants it. All functions of the client library do, but for those that can't
# fail: they only tell, or change, what the client library has in memory.

BEGIN {
	split("malloc calloc realloc strdup fopen fclose scandir free poll clock_gettime",
		names)
	for (i in names)
		renamed[names[i]] = 1
	split("affected_rows errno error fetch_fields fetch_lengths get_server_info " \
		"get_server_version get_socket get_ssl_cipher insert_id more_results num_fields " \
		"num_rows sqlstate stmt_affected_rows stmt_attr_set stmt_errno " \
		"stmt_error stmt_field_count stmt_free_result stmt_insert_id stmt_num_rows " \
		"stmt_param_count stmt_sqlstate", names)
	for (i in names)
		harmless["mysql_" names[i]] = 1
}

$1 == "U" && ($2 in renamed || ($2 ~ /^mysql_/ && !($2 in harmless))) && !seen[$2]++ {
	print $2, "fault_" $2
}

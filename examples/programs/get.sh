# 100 objects at once, for http.toml. Prints how many came, with which HTTP, and when the last did.
seq 100 | sed 's,.*,url=https://server/object?&\noutput=/dev/null,' >/tmp/list
curl -s "$HTTP" --parallel --parallel-max 100 -K /tmp/list -w '%{http_version} %{http_code} %{time_total}\n' |
	sort -n -k 3 | awk '{ of[$1 " " $2]++; last = $3 } END { for (each in of) print of[each], "x", each; print last, "s" }'

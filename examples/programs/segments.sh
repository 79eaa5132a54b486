# 2 s of video in six qualities, for player.toml.
mkdir /tmp/video
cd /tmp/video
for kbit in 500 1000 2000 4000 6000 8000; do head -c $((kbit * 250)) /dev/zero >$kbit; done
exec python3 -m http.server 80 --protocol HTTP/1.1

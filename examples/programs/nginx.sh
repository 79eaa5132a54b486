# nginx with TLS, for http.toml: 100 objects of 20 kB.
mkdir /tmp/www
head -c 20000 /dev/zero >/tmp/www/object
cat >/tmp/nginx.conf <<END
daemon off; pid /tmp/nginx.pid; error_log stderr; user root;
events {}
http {
	access_log off;
	server {
		listen 443 ssl http2; root /tmp/www;
		ssl_certificate $ACKCLOCK_CERT; ssl_certificate_key $ACKCLOCK_KEY;
	}
}
END
PATH=$PATH:/usr/sbin exec nginx -c /tmp/nginx.conf

import hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ["PASSES_WEBHOOK_SECRET"]

def is_signed(raw_body, header):
    parts = [part.strip().partition("=")[::2] for part in header.split(",")]
    t = next((value for name, value in parts if name == "t"), "")
    if not re.fullmatch("[0-9]{1,12}", t) or abs(time.time() - int(t)) > 300:
        return False
    signed = t.encode() + b"." + raw_body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest().encode()
    return any(name == "v1" and hmac.compare_digest(tag.encode(), expected) for name, tag in parts)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        raw_body = self.rfile.read(int(self.headers["Content-Length"]))
        is_valid = is_signed(raw_body, self.headers.get("X-Service-Signature", ""))
        if is_valid:
            event = json.loads(raw_body)
            print(event["type"], event["id"], flush=True)
        self.send_response(204 if is_valid else 400)
        self.end_headers()

HTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()

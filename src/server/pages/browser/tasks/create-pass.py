import json, os, urllib.request

body = {
    "templateId": os.environ["TEMPLATE_ID"],
    "externalPassId": "order-1815-1",
    "label": "Ada Lovelace",
    "variables": {"seat": "A-17"},
}
request = urllib.request.Request(
    os.environ["PASSES_URL"] + "/v1/passes",
    data=json.dumps(body).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["PASSES_TOKEN"],
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    created = json.load(response)
print(created["status"], created["hostedLinks"]["smart"])

import json, os, urllib.parse, urllib.request

query = {"status": "ISSUED", "variable": "seat:A-17", "limit": 100}
while True:
    request = urllib.request.Request(
        os.environ["PASSES_URL"] + "/v1/passes?" + urllib.parse.urlencode(query),
        headers={"Authorization": "Bearer " + os.environ["PASSES_TOKEN"]},
    )
    with urllib.request.urlopen(request) as response:
        page = json.load(response)
    for item in page["items"]:
        print(item["externalPassId"], item["label"])
    if not page["hasMore"]:
        break
    query["cursor"] = page["nextCursor"]

curl --fail-with-body --get "$PASSES_URL/v1/passes" \
  --header "Authorization: Bearer $PASSES_TOKEN" \
  --data-urlencode "status=ISSUED" \
  --data-urlencode "variable=seat:A-17" \
  --data-urlencode "limit=100"

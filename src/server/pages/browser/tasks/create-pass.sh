curl --fail-with-body "$PASSES_URL/v1/passes" \
  --header "Authorization: Bearer $PASSES_TOKEN" \
  --header "Content-Type: application/json" \
  --data @- <<JSON
{
  "templateId": "$TEMPLATE_ID",
  "externalPassId": "order-1815-1",
  "label": "Ada Lovelace",
  "variables": { "seat": "A-17" }
}
JSON

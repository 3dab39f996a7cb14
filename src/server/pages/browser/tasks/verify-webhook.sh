# SIGNATURE is the header X-Service-Signature, and body.json contains the unchanged body.
time=$(printf %s "$SIGNATURE" | sed 's/.*t=\([0-9]*\).*/\1/')
age=$(( $(date +%s) - time ))
expected=$(printf %s. "$time" | cat - body.json | openssl dgst -sha256 -hmac "$PASSES_WEBHOOK_SECRET" -r | cut -c1-64)
case ",$SIGNATURE," in
  *",v1=$expected,"*) [ "${age#-}" -le 300 ] || { echo "The signature is too old."; exit 1; } ;;
  *) echo "The signature is wrong."; exit 1 ;;
esac
echo "The signature is valid."

import { createClient } from 'wallet-passes-client'

const { PASSES_URL: url = '', PASSES_TOKEN: token = '', TEMPLATE_ID: templateId = '' } = process.env
const client = createClient({ url, token })
const pass = await client.passes.create({
  body: { templateId, externalPassId: 'order-1815-1', label: 'Ada Lovelace', variables: { seat: 'A-17' } },
})
console.log(pass.status, pass.hostedLinks.smart)
await client.close()

import { createClient, paginate } from 'wallet-passes-client'

const { PASSES_URL: url = '', PASSES_TOKEN: token = '' } = process.env
const client = createClient({ url, token })
for await (const pass of paginate(client.passes.list, { status: 'ISSUED', variable: 'seat:A-17' })) {
  console.log(pass.externalPassId, pass.label)
}
await client.close()

// Generates four clients from a description of the API: `node generate-clients.js DESCRIPTION FOLDER URL`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { generateZodClientFromOpenAPI } from 'openapi-zod-client'
import { generate } from 'orval'

const [, , description, folder, url] = process.argv
const read = () => JSON.parse(readFileSync(description, 'utf8'))

writeFileSync(
  join(folder, 'openapi-typescript.ts'),
  astToString(await openapiTypescript(read(), { defaultNonNullable: false })),
)
await createClient({ input: read(), output: join(folder, 'hey-api'), logs: { level: 'silent', file: false } })
await generate({
  input: { target: description },
  output: { target: join(folder, 'orval.ts'), client: 'fetch', baseUrl: url },
})
await generateZodClientFromOpenAPI({
  openApiDoc: read(),
  distPath: join(folder, 'openapi-zod-client.ts'),
  options: { withAlias: true },
})

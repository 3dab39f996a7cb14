// Lints /openapi.json with Redocly and Spectral, and rejects every problem that is not listed here with its reason.
import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore from '@stoplight/spectral-core'
import spectralRulesets from '@stoplight/spectral-rulesets'
import { register } from 'tsx/esm/api'

const accepted = {
  '#/paths/~1v1~1webhooks~1deliveries~1{id} no-ambiguous-paths':
    'The server prefers a fixed segment, so only a webhook with the ID "deliveries" would be ambiguous. IDs are UUIDs.',
}

register()
const { openApiDocument } = await import('../src/core/openapi/document.ts')
const { withSharedParts } = await import('../src/core/openapi/shared-parts.ts')
const source = JSON.stringify(withSharedParts(openApiDocument()))

async function lintWithRedocly() {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return problems.map(({ ruleId, message, location }) => ({ at: `${location[0]?.pointer} ${ruleId}`, message }))
}

async function lintWithSpectral() {
  const spectral = new spectralCore.Spectral()
  spectral.setRuleset({ extends: [[spectralRulesets.oas, 'recommended']] })
  const problems = await spectral.run(JSON.parse(source))
  return problems.map(({ code, message, path }) => ({ at: `#/${path.join('/')} ${code}`, message }))
}

const problems = [...(await lintWithRedocly()), ...(await lintWithSpectral())]
const rejected = problems.filter(({ at }) => !(at in accepted)).map(({ at, message }) => `${at}: ${message}`)
const outdated = Object.keys(accepted).filter((place) => !problems.some(({ at }) => at === place))
for (const problem of rejected) console.error(problem)
for (const place of outdated) console.error(`${place}: accepted, but not reported any more`)
if (rejected.length + outdated.length > 0) process.exitCode = 1

/**
 * Runs many virtual iPhones against a server that uses the Apple emulator. Some phones sleep, ignore pushes, or respond
 * slowly. `npm run fleet -- --help` lists the options. docs/guides/drill.md explains the printed table.
 */
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseDuration } from '../src/cli/arguments/moment.ts'
import { createClient } from '../src/client/client.ts'
import { parseMix } from './support/fleet/behaviour.ts'
import { installFleet } from './support/fleet/install.ts'
import { reportFleet } from './support/fleet/report.ts'
import { percentile } from './support/load.ts'
import { createRandom } from './support/random.ts'

const HELP = `PASSES_URL=… PASSES_TOKEN=… npm run fleet -- [flags]

Serve with --rate-limit 0: all phones have one address.

  --phones N     how many (100)
  --mix MIX      shares of behaviors (awake=90,asleep=4,deaf=2,throttled=2,slow=1,stuck=1)
  --project ID   only passes of this project
  --for TIME     end after this time: 30s, 10m, 2h; otherwise on Ctrl-C
  --seed TEXT    the same seed is the same phones again
  --speed N      acceleration of the phones' clocks (1)
  --remove       unregister the phones at the end; otherwise they stay registered
`

const { values } = parseArgs({
  options: {
    phones: { type: 'string', default: '100' },
    mix: { type: 'string', default: 'awake=90,asleep=4,deaf=2,throttled=2,slow=1,stuck=1' },
    project: { type: 'string' },
    for: { type: 'string' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    speed: { type: 'string', default: '1' },
    remove: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
const { PASSES_URL: url = 'http://127.0.0.1:3000', PASSES_TOKEN: token } = process.env
if (values.help || token === undefined) {
  console.log(HELP)
  process.exit(values.help ? 0 : 2)
}
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const seconds = values.for === undefined ? undefined : parseDuration(values.for, '--for')
const client = createClient({ url, token })
const { fleet, passIds } = await installFleet({
  client,
  ...(values.project !== undefined && { projectId: values.project }),
  fleetId: createHash('sha256').update(values.seed).digest('hex').slice(0, 16),
  phones: Number(values.phones),
  mix: parseMix(values.mix),
  random: createRandom(values.seed),
  speed: Number(values.speed),
  signal: stop.signal,
  onProblem: (message) => console.error(`Problem: ${message}`),
})
console.log(`${fleet.phones.length} phones are registered (--seed ${values.seed}); Ctrl-C ends it.`)
const note = setInterval(() => console.log(JSON.stringify(fleet.counts)), 5_000)
const time = seconds === undefined ? 2 ** 31 - 1 : seconds * 1000
await sleep(time, undefined, { signal: stop.signal }).catch(() => undefined)
clearInterval(note)
const behaviours = await reportFleet(fleet, { client, passIds })
console.table(behaviours.map(({ stale, ...counts }) => ({ ...counts, ...stale })))
const [half, most] = [0.5, 0.99].map((share) => percentile([...fleet.delays], share))
if (fleet.delays.length > 0) console.log(`From push to fetched: half within ${half} ms, 99 % within ${most} ms.`)
if (values.remove)
  for (const phone of fleet.phones) for (const pass of phone.passes) await fleet.unregister(phone, pass)
await fleet.close()
await client.close()

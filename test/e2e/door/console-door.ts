import { consoleEnvironment } from '../../../src/cli/console/environment.ts'
import { createClient } from '../../../src/client/client.ts'
import { openEngine } from '../../../src/door/engine/open-engine.ts'

/** The engine of a console in a process without a terminal: tests call it by messages, as they call `door` in a page. */
interface Options {
  url: string
  token: string
  folder: string
  projectId: string
  deviceId: string
  skewMs: number
}

interface Call {
  id: number
  method: string
  args: unknown[]
}

const { url, token, folder, projectId, deviceId, ...rest } = JSON.parse(process.argv[2]!) as Options
let { skewMs } = rest
const engine = await openEngine(
  consoleEnvironment({
    client: createClient({ url, token, attempts: 1 }),
    folder,
    station: { projectId, deviceId, context: { gate: 'North' } },
    isReached: false,
    clock: () => new Date(Date.now() + skewMs),
    sameScanMs: 3_000,
  }),
)
const methods: Record<string, (...args: never[]) => unknown> = {
  ...engine,
  state: () => engine.state,
  setClock: (ms: number) => {
    skewMs = ms
  },
  stopTimers: () => {
    const start = setTimeout
    Object.assign(globalThis, { setTimeout: (_: () => void, ms: number) => start(() => undefined, ms) })
  },
}
process.on('message', async ({ id, method, args }: Call) => {
  process.send!({ id, value: await methods[method]!(...(args as never[])) })
})
process.send!('open')

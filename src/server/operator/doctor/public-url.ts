import { isIP } from 'node:net'
import { Agent, request } from 'undici'
import { openApiDocument } from '../../../core/openapi.ts'
import type { Config } from '../../boot/config.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'
import type { OtherTime } from './database.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024
const GIVE = 'give the address that phones reach the server by: --public-url https://… (PASSES_PUBLIC_URL)'
const REACH = 'start it with passes serve, and see to the name, the proxy and its certificate'

/** Whether people reach this service by the address that stands in its links; and the time by that server's clock. */
export async function checkPublicUrl(
  config: Config,
  clock: () => Date,
): Promise<{ checks: Check[]; time: OtherTime | undefined }> {
  let time: OtherTime | undefined
  const url = config.publicUrl && new URL(config.publicUrl)
  const agent = new Agent({ connect: { timeout: TIMEOUT_MS }, maxResponseSize: MAX_BYTES })

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const target = new URL(`${config.publicUrl!.replace(/\/+$/, '')}${path}`)
    const sentAt = clock().getTime()
    const answer = await request(target, { dispatcher: agent, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const date = Date.parse(String(answer.headers.date))
    // The header has whole seconds: on average half of one has passed.
    const at = new Date((sentAt + clock().getTime()) / 2)
    if (!Number.isNaN(date)) time = { source: `the server at ${target.host}`, time: new Date(date + 500), at }
    const text = await answer.body.text()
    return { status: answer.statusCode, body: parseJson(text) }
  }

  try {
    const checks = await examine('Public URL', [
      { name: 'Address', fix: GIVE, look: () => judgeAddress(url || undefined, config) },
      {
        name: 'Reachable',
        fix: REACH,
        async look() {
          if (!url) return skipped('there is none to ask')
          const { status, body } = await get('/healthz')
          if (status !== 200 || (body as { status?: unknown })?.status !== 'ok') {
            return failed(
              `${url.origin} answers ${status} to /healthz: something else, or a proxy without us behind it.`,
              REACH,
            )
          }
          const described = (await get('/openapi.json')).body as { info?: { title?: unknown; version?: unknown } }
          const { title, version } = openApiDocument().info
          if (described?.info?.title !== title) return failed(`${url.origin} is another service.`, GIVE)
          return passed(`${title} answers, interface ${described.info.version ?? version}`)
        },
      },
    ])
    return { checks, time }
  } finally {
    await agent.close()
  }
}

function judgeAddress(url: URL | undefined, { isProduction, platforms, apple, google }: Config): Finding {
  const isReal = platforms.some((platform) =>
    platform === 'apple' ? apple.certificate !== undefined : google.issuerId !== undefined,
  )
  if (!url) {
    if (!isReal && !isProduction) return skipped('none is given: links lead to the listening address')
    return failed('None is given: links would lead to the listening address, which phones do not reach.', GIVE)
  }
  if (url.protocol === 'https:') {
    return isIP(url.hostname) || url.hostname === 'localhost'
      ? failed(`${url.hostname} is not a name that phones can reach and trust.`, GIVE)
      : passed(url.origin)
  }
  return isReal || isProduction
    ? failed(`${url.origin} is not https: phones refuse to update passes from it.`, GIVE)
    : passed(`${url.origin}; a real platform needs https`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A page of somebody else.
    return undefined
  }
}

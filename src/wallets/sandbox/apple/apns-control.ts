import { z } from 'zod'
import { type Faults, switchFaults } from '../faults.ts'
import { type LocalServer, serveLocally } from '../local-server.ts'
import type { DeviceTokens } from './apns-tokens.ts'
import type { Channels } from './channels.ts'

const TokenRequest = z.object({ topic: z.string().optional() })

/**
 * The side of APNs that phones see, for which Apple has no public protocol:
 *
 *     POST   /tokens {topic?}        201 {token}
 *     GET    /tokens/{token}/pushes  200, a line of JSON for each push, for as long as the phone listens
 *     DELETE /tokens/{token}         204, and 410 to whoever pushes to it
 *     POST   /faults {faults: […]}   200, for tests and demos
 */
export function openApnsControl(options: {
  tokens: DeviceTokens
  channels: Channels
  faults: Faults
  clock: () => Date
}): Promise<LocalServer> {
  const { tokens, channels, faults, clock } = options
  return serveLocally(({ method, path, json, response }) => {
    if (path === '/faults' && method === 'POST') return switchFaults(faults, json)
    if (path === '/tokens' && method === 'POST') {
      return { status: 201, json: { token: tokens.issue(TokenRequest.safeParse(json).data?.topic) } }
    }
    const [, token = '', rest] = /^\/tokens\/([0-9a-f]{64,200})(\/pushes)?$/.exec(path) ?? []
    const known = tokens.find(token)
    if (!known) return { status: 404, json: { error: 'There is no such token.' } }
    if (rest === undefined && method === 'DELETE') {
      tokens.retire(token, clock())
      return { status: 204 }
    }
    if (rest === undefined || method !== 'GET') return { status: 405, json: { error: 'Not so.' } }
    channels.listen(token, response)
    return undefined
  })
}

import { request } from 'undici'
import { parseServerKey } from '../../../core/rules/crypto/server-key.ts'
import type { Store } from '../../../storage/store.ts'
import type { StoredIdentity } from '../../../storage/workspaces/identities-repository.ts'
import { urlHost } from '../../boot/listener.ts'
import { findServerKey } from '../../boot/server-key.ts'
import { daysLeft, WARNING_DAYS } from '../../certificates.ts'
import type { Config } from '../../config.ts'
import { setups } from '../../platforms/deliveries.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

/** Checks that the key of each identity can be decrypted, and that its certificate is not about to expire. */
export async function checkIdentities(config: Config, store: Store | undefined, at: Date): Promise<Check[]> {
  const identities = (await store?.identities.listAll()) ?? []
  const text = identities.length > 0 ? await findServerKey(config).catch(() => undefined) : undefined
  return examine(
    'Identities',
    Object.fromEntries(
      identities.map((stored) => [
        stored.name,
        {
          fix: `passes identity renew ${stored.name} ${setups[stored.platform].renewFlags}`,
          check: () =>
            text === undefined
              ? failed('The server key is missing.', 'give the server key: PASSES_SERVER_KEY')
              : check(stored, text, config, at),
        },
      ]),
    ),
  )
}

async function check(stored: StoredIdentity, text: string, config: Config, at: Date): Promise<Finding> {
  const keys = { current: parseServerKey(text), previous: config.previousServerKeys.map(parseServerKey) }
  const described: { account: string; endsAt?: Date } = await setups[stored.platform].describe(stored, keys, at)
  const { account, endsAt } = described
  if (!endsAt) return passed(account)
  const days = daysLeft({ notAfter: endsAt }, at)
  const left = `${days} days left, until ${endsAt.toISOString()}`
  if (days < WARNING_DAYS) return failed(`Only ${left}.`)
  return passed(`${account}: ${left}`)
}

const TIMEOUT_MS = 5_000

/** Finds paused identities in the metrics of a server, because a server keeps pauses only in memory. */
export function checkPauses({ metrics }: Pick<Config, 'metrics'>): Promise<Check[]> {
  const check = (): Finding | Promise<Finding> => {
    if (!metrics || metrics.port === 0) {
      return skipped('each worker reports pauses in its metrics: give the --metrics-port of the worker')
    }
    return ask(`http://${urlHost(metrics.host)}:${metrics.port}/metrics`)
  }
  return examine('Platforms', { Paused: { fix: 'check that the server is running', check } })
}

async function ask(url: string): Promise<Finding> {
  let text: string
  try {
    const answer = await request(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    text = await answer.body.text()
  } catch {
    return skipped(`no server responds at ${url}`)
  }
  const paused = text.split('\n').filter((line) => line.startsWith('passes_identity_paused{') && line.endsWith(' 1'))
  if (paused.length === 0) return passed('no identity of the server with these metrics is paused')
  const label = (line: string, pattern: RegExp) => pattern.exec(line)?.[1]
  const names = paused
    .map((line) => `${label(line, /identity="([^"]*)"/)} (${label(line, /provider="([^"]*)"/)})`)
    .join(', ')
  return failed(
    `The platform does not respond to these identities, so updates of their passes wait: ${names}.`,
    'the log shows the response of the platform; if the platform rejects the key, run "passes identity renew" to ' +
      'end the pause immediately',
  )
}

import { request } from 'undici'
import { urlHost } from '../../boot/listener.ts'
import type { Config } from '../../config.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

const TIMEOUT_MS = 5_000

/**
 * Checks for identities that are paused because their platform does not respond. Pauses are kept in the memory of a
 * server, so read its metrics.
 */
export function checkPauses({ metrics }: Pick<Config, 'metrics'>): Promise<Check[]> {
  const look = (): Finding | Promise<Finding> => {
    if (!metrics || metrics.port === 0) {
      return skipped('shown by passes_identity_paused of each worker: give its --metrics-port')
    }
    return ask(`http://${urlHost(metrics.host)}:${metrics.port}/metrics`)
  }
  return examine('Platforms', [{ name: 'Paused', fix: 'check that the server is running', look }])
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
    `Paused because their platform does not respond, so updates of their passes wait: ${names}.`,
    'the log shows the response of the platform; if it rejects the key, passes identity renew ends the pause immediately',
  )
}

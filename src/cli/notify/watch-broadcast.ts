import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Broadcast, BroadcastStats } from '../../core/contract/broadcasts.ts'
import { InterruptedError } from '../command/errors.ts'
import { onInterrupt } from '../command/interrupt.ts'
import { localTimeOr } from '../command/output.ts'
import { canAnimate } from '../settings/settings.ts'
import { describeStats } from './show.ts'

const EVERY_MS = 500

/** A look counts all notifications of the broadcast: at most a fifth of the time is spent on it. */
const PAUSE_PER_LOOK = 4

/** Says on stderr how a broadcast comes along until each of its notifications has arrived, or cannot. */
export async function watchBroadcast(client: Client, { projectId, id, sendAt }: Broadcast): Promise<BroadcastStats> {
  const params = { id: projectId, broadcastId: id }
  const stop = new AbortController()
  const release = onInterrupt(() => stop.abort())
  const line = openLine()
  try {
    for (;;) {
      const startedAt = performance.now()
      const stats = await client.broadcasts.stats({ params }, { signal: stop.signal })
      line.show(stats.status === 'SCHEDULED' ? `scheduled for ${localTimeOr(sendAt, 'now')}` : describeStats(stats))
      if (stats.status === 'DISPATCHED' && stats.pending === 0) return stats
      const tookMs = performance.now() - startedAt
      await sleep(Math.max(EVERY_MS, PAUSE_PER_LOOK * tookMs), undefined, { signal: stop.signal })
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
    throw new InterruptedError('Stopped watching; the broadcast goes on.', {
      hint: `passes broadcast get ${projectId} ${id} says how it stands.`,
      details: params,
    })
  } finally {
    line.end()
    release()
  }
}

/** One line that is written over on a terminal; elsewhere a line for each change. */
function openLine() {
  const isTerminal = canAnimate(process.stderr)
  let shown = ''
  return {
    show(text: string) {
      if (text === shown) return
      shown = text
      process.stderr.write(isTerminal ? `\r\u001B[2K${text}` : `${text}\n`)
    },
    end() {
      if (isTerminal && shown) process.stderr.write('\n')
    },
  }
}

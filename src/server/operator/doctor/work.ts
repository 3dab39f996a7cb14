import { madeAt } from '../../../core/ids.ts'
import { MAX_JOB_LAPSES } from '../../../core/rules/sending/retries.ts'
import type { Database } from '../../../storage/db/database.ts'
import type { QueueOverview } from '../../../storage/operations/overview.ts'
import { createStore, type Store } from '../../../storage/store.ts'
import { endingTokens } from '../../create-token.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

/** Due jobs run within a second. Jobs that wait longer than this need a worker. */
const MAX_WAIT_SECONDS = 60

/** The maximum number of webhooks and moves that a finding names. */
const MAX_NAMED = 5

/** Checks that background work makes progress. @param database undefined if it cannot be queried */
export function checkWork(database: Database | undefined, at: Date): Promise<Check[]> {
  const store = database && createStore(database)
  const overviews = store?.overviews
  const unknown = 'the database cannot be read'
  return examine('Work', [
    {
      name: 'Jobs',
      fix: 'passes serve --role worker',
      look: async () => (overviews ? checkQueue((await overviews.read(at)).queues, at) : skipped(unknown)),
    },
    {
      name: 'Discarded jobs',
      fix: 'passes jobs list',
      async look() {
        if (!overviews) return skipped(unknown)
        const { setAside } = await overviews.read(at)
        if (setAside.length === 0) return passed('none')
        const fix = 'passes jobs list shows why; passes jobs retry --all runs them again'
        return failed(`Discarded: ${describeCounts(setAside)}.`, fix)
      },
    },
    {
      name: 'Jobs in quarantine',
      fix: 'passes jobs list',
      async look() {
        if (!overviews) return skipped(unknown)
        const { quarantined } = await overviews.read(at)
        if (quarantined.length === 0) return passed('none')
        return failed(
          `Workers stopped or hung ${MAX_JOB_LAPSES} times while they ran: ${describeCounts(quarantined)}.`,
          'passes jobs list shows them; passes jobs retry ID runs one again on its own, and passes jobs delete ID removes it',
        )
      },
    },
    {
      name: 'Webhooks',
      fix: 'passes webhook list',
      async look() {
        if (!overviews) return skipped(unknown)
        const { sound, failing, disabled } = (await overviews.read(at)).webhooks
        const named = await overviews.listFailingWebhooks(MAX_NAMED)
        const counts = `${sound} sound, ${failing} failing, ${disabled} disabled`
        if (named.length === 0) return passed(counts)
        const names = named.map(
          ({ id, workspaceName, status, failingSince }) =>
            `${id} of ${workspaceName} (${status === 'DISABLED' ? 'disabled, ' : ''}failing since ${failingSince.toISOString()})`,
        )
        const first = named[0]!
        const next =
          first.status === 'DISABLED' ? `passes webhook enable ${first.id}` : `passes webhook test ${first.id}`
        return failed(
          `${counts}: ${names.join('; ')}.`,
          `passes webhook deliveries --webhook ${first.id} shows why; then ${next}`,
        )
      },
    },
    {
      name: 'Templates',
      fix: 'passes template get ID',
      async look() {
        if (!overviews) return skipped(unknown)
        const { rejected } = await overviews.read(at)
        const counts = `${rejected.version} versions, ${rejected.class} classes, and ${rejected.pass} passes are rejected by a platform`
        const [last] = await overviews.listRejectedVersions(1)
        if (!last) return passed(counts)
        const { kind, name, version, workspaceName, message, passId } = last
        const place = `version ${version} of ${name} in ${workspaceName}`
        return kind === 'version'
          ? failed(
              `${counts}; the latest is ${place}: ${message}`,
              'publish a version without the rejected content, and upgrade its passes: passes template upgrade',
            )
          : failed(
              `${counts}; the latest is the class of pass ${passId ?? '(no longer stored)'} of ${place}, which has a classKey: ${message}`,
              'give one of its passes values that Google accepts, which also updates the class: passes update',
            )
      },
    },
    {
      name: 'Moves',
      fix: 'passes move-out --status',
      look: async () => (store ? describeMoves(store) : skipped(unknown)),
    },
    {
      name: 'Evidence',
      fix: 'passes scans verify',
      look: async () => (store ? checkChains(store, at) : skipped(unknown)),
    },
    {
      name: 'Tokens',
      fix: 'passes token list',
      async look() {
        if (!store) return skipped(unknown)
        const ending = await endingTokens(store, at)
        if (ending.length === 0) return passed('none expires within 30 days')
        const names = ending.map(
          ({ id, name, workspaceName, expiresAt }) =>
            `${name} (${id}) of ${workspaceName} expires at ${expiresAt.toISOString()}`,
        )
        const first = ending[0]!
        return failed(
          `${names.join('; ')}.`,
          `passes token rotate ${first.id} --workspace ${first.workspaceName}; passes token revoke if it is unused`,
        )
      },
    },
  ])
}

/**
 * Describes the moves in progress. A move is not a failure, but the server must keep running until the last phone has
 * moved.
 */
async function describeMoves(store: Store): Promise<Finding> {
  const moves = await store.overviews.listMoves(MAX_NAMED)
  if (moves.length === 0) return passed('no phones are moving to another address')
  const lines: string[] = []
  for (const { workspaceId, workspaceName, url, startedAt, id } of moves) {
    const { moved, silent, refused, waiting } = await store.moves.findProgress(workspaceId, { id, startedAt })
    const left = `${silent} were pushed but have not moved yet, ${refused} cannot be pushed, ${waiting} wait`
    lines.push(
      `phones of ${workspaceName} are moving to ${url} since ${startedAt.toISOString()}: ${moved} have moved, ${left}`,
    )
  }
  return passed(lines.join('; '))
}

/** Entries are chained within about a second. If they wait longer than this, no worker runs or a chain is broken. */
const MAX_UNCHAINED_SECONDS = 300

async function checkChains(store: Store, at: Date): Promise<Finding> {
  const waiting = await store.chainReader.findPending()
  const heads = await store.chainReader.countHeads()
  const since = waiting.firstId === null ? at : madeAt(waiting.firstId)
  const seconds = Math.round((at.getTime() - since.getTime()) / 1000)
  if (waiting.newCount > 0 && seconds > MAX_UNCHAINED_SECONDS) {
    return failed(
      `${waiting.newCount} entries of ledgers and audit logs are not chained, the oldest for ${seconds} s.`,
      'passes scans verify and passes audit verify show broken entries; if there are none, start a worker: passes serve --role worker',
    )
  }
  return passed(`${heads} chains are signed, ${waiting.count} entries wait`)
}

function describeCounts(jobs: { kind: string; count: number }[]): string {
  return jobs.map(({ kind, count }) => `${count} ${kind}`).join(', ')
}

function checkQueue(queues: QueueOverview[], at: Date): Finding {
  const waits = queues.map(({ queue, priority, due, oldestDueAt }) => ({
    place: `${queue} (${priority})`,
    due,
    seconds: oldestDueAt ? Math.round((at.getTime() - oldestDueAt.getTime()) / 1000) : 0,
  }))
  const late = waits.filter(({ seconds }) => seconds > MAX_WAIT_SECONDS)
  if (late.length > 0) {
    const what = late.map(({ place, due, seconds }) => `${due} in ${place}, the oldest for ${seconds} s`).join('; ')
    return failed(`Due and not run: ${what}.`, 'start a worker, or more of them: passes serve --role worker')
  }
  return passed(`${waits.reduce((sum, { due }) => sum + due, 0)} due, none for long`)
}

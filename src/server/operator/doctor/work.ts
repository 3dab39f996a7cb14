import { madeAt } from '../../../core/ids.ts'
import { MAX_JOB_LAPSES } from '../../../core/rules/sending/retries.ts'
import { shellQuote } from '../../../core/shell-quote.ts'
import type { Store } from '../../../storage/store.ts'
import { endingTokens } from '../../create-token.ts'
import { type Check, type Examination, examine, failed, passed } from './check.ts'

/** The maximum waiting time of due jobs. Jobs usually run within a second, so a longer wait means no worker runs. */
const MAX_WAIT_SECONDS = 60

/**
 * The maximum waiting time of entries. Entries are usually chained within a second, so a longer wait means that no
 * worker runs, or that a chain is broken.
 */
const MAX_UNCHAINED_SECONDS = 300

const MAX_NAMED = 5

/** Checks that background work makes progress. @param store undefined if the database cannot be queried */
export function checkWork(store: Store | undefined, at: Date): Promise<Check[]> {
  return examine('Work', workChecks, () => (store ? { store, at } : 'the database cannot be read'))
}

const workChecks: Record<string, Examination<{ store: Store; at: Date }>> = {
  Jobs: {
    fix: 'passes serve --role worker',
    async check({ store: { overviews }, at }) {
      const { queues } = await overviews.read(at)
      const late = queues.flatMap(({ queue, priority, due, oldestDueAt }) => {
        const seconds = oldestDueAt ? secondsBetween(oldestDueAt, at) : 0
        return seconds > MAX_WAIT_SECONDS ? `${due} in ${queue} (${priority}), the oldest for ${seconds} s` : []
      })
      if (late.length === 0) return passed(`${queues.reduce((sum, { due }) => sum + due, 0)} due, none for long`)
      return failed(
        `No worker ran these due jobs: ${late.join('; ')}.`,
        'start one or more workers: passes serve --role worker',
      )
    },
  },
  'Discarded jobs': {
    fix: 'passes jobs list',
    async check({ store: { overviews }, at }) {
      const { discarded } = await overviews.read(at)
      if (discarded.length === 0) return passed('none')
      const fix = 'to see the reasons, run "passes jobs list"; to retry the jobs, run "passes jobs retry --all"'
      return failed(`Discarded: ${describeCounts(discarded)}.`, fix)
    },
  },
  'Jobs in quarantine': {
    fix: 'passes jobs list',
    async check({ store: { overviews }, at }) {
      const { quarantined } = await overviews.read(at)
      if (quarantined.length === 0) return passed('none')
      return failed(
        `Workers stopped or hung ${MAX_JOB_LAPSES} times while they ran these jobs: ${describeCounts(quarantined)}.`,
        'to list the jobs, run "passes jobs list"; to retry one, separately from other jobs, run ' +
          '"passes jobs retry ID"; to remove one, run "passes jobs delete ID"',
      )
    },
  },
  Webhooks: {
    fix: 'passes webhook list',
    async check({ store: { overviews }, at }) {
      const { sound, failing, disabled } = (await overviews.read(at)).webhooks
      const named = await overviews.listFailingWebhooks(MAX_NAMED)
      const counts = `${sound} sound, ${failing} failing, ${disabled} disabled`
      const [first] = named
      if (!first) return passed(counts)
      const names = named.map(
        ({ id, workspaceName, status, failingSince }) =>
          `${id} of ${workspaceName} (${status === 'DISABLED' ? 'disabled, ' : ''}failing since ${failingSince.toISOString()})`,
      )
      const next = `passes webhook ${first.status === 'DISABLED' ? 'enable' : 'test'} ${first.id}`
      return failed(
        `${counts}: ${names.join('; ')}.`,
        `to see the reasons, run "passes webhook deliveries --webhook ${first.id}"; then run "${next}"`,
      )
    },
  },
  Templates: {
    fix: 'passes template get ID',
    async check({ store: { overviews }, at }) {
      const { rejected } = await overviews.read(at)
      const counts = `${rejected.version} versions, ${rejected.class} classes, and ${rejected.pass} passes are rejected by a platform`
      const [last] = await overviews.listRejectedVersions(1)
      if (!last) return passed(counts)
      const { kind, name, version, workspaceName, message, passId } = last
      const place = `version ${version} of ${name} in ${workspaceName}`
      return kind === 'version'
        ? failed(
            `${counts}; the latest is ${place}: ${message}`,
            'publish a version without the rejected content, and upgrade its passes with "passes template upgrade"',
          )
        : failed(
            `${counts}; the latest is the class (with a classKey) of pass ${passId ?? '(no longer stored)'} of ` +
              `${place}: ${message}`,
            'use "passes update" to set values that Google accepts in a pass of the class; this also updates the class',
          )
    },
  },
  Moves: {
    fix: 'passes move-out --status',
    /** Reports unfinished moves without failing. The server must run until the last phone has moved. */
    async check({ store }) {
      const moves = await store.overviews.listMoves(MAX_NAMED)
      if (moves.length === 0) return passed('no phones are moving to another address')
      const lines: string[] = []
      for (const { workspaceId, workspaceName, url, startedAt, id } of moves) {
        const { moved, silent, refused, waiting } = await store.moves.findProgress(workspaceId, { id, startedAt })
        const left = `${silent} got a push but have not moved yet, ${refused} cannot get a push, ${waiting} wait for a push`
        lines.push(
          `phones of ${workspaceName} have been moving to ${url} since ${startedAt.toISOString()}: ${moved} have moved, ${left}`,
        )
      }
      return passed(lines.join('; '))
    },
  },
  Evidence: {
    fix: 'passes scans verify',
    async check({ store, at }) {
      const waiting = await store.chainReader.findPending()
      const heads = await store.chainReader.countHeads()
      const seconds = waiting.firstId === null ? 0 : secondsBetween(madeAt(waiting.firstId), at)
      if (waiting.newCount === 0 || seconds <= MAX_UNCHAINED_SECONDS) {
        return passed(`${heads} chains are signed, ${waiting.count} entries wait to be chained`)
      }
      return failed(
        `${waiting.newCount} entries of ledgers and audit logs are not chained, the oldest for ${seconds} s.`,
        '"passes scans verify" and "passes audit verify" show broken entries; if there are none, start a worker: ' +
          'passes serve --role worker',
      )
    },
  },
  Tokens: {
    fix: 'passes token list',
    async check({ store, at }) {
      const ending = await endingTokens(store, at)
      const [first] = ending
      if (!first) return passed('none expires within 30 days')
      const names = ending.map(
        ({ id, name, workspaceName, expiresAt }) =>
          `${name} (${id}) of ${workspaceName} expires at ${expiresAt.toISOString()}`,
      )
      return failed(
        `${names.join('; ')}.`,
        `run passes token rotate ${first.id} --workspace ${shellQuote(first.workspaceName)} or, if the token is ` +
          'unused, passes token revoke',
      )
    },
  },
}

function describeCounts(jobs: { kind: string; count: number }[]): string {
  return jobs.map(({ kind, count }) => `${count} ${kind}`).join(', ')
}

function secondsBetween(from: Date, to: Date): number {
  return Math.round((to.getTime() - from.getTime()) / 1000)
}

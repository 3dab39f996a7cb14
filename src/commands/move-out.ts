import { setTimeout as sleep } from 'node:timers/promises'
import { Flags } from '@oclif/core'
import { skipFlag } from '../cli/arguments/list-flags.ts'
import { BaseCommand } from '../cli/command/base-command.ts'
import { InterruptedError, UsageError } from '../cli/command/cli-error.ts'
import { count, counted, localTime, table } from '../cli/command/output.ts'
import { onInterrupt } from '../cli/command/program.ts'
import { type Progress, startProgress } from '../cli/command/progress.ts'
import { confirm } from '../cli/command/prompt.ts'
import { databaseFlags, serveFlags } from '../cli/settings/server-flags.ts'
import type { Move } from '../server/operator/move-out.ts'

export default class MoveOut extends BaseCommand {
  static override summary = 'Move phones with Apple passes to another address.'
  static override description =
    'Accesses the database directly, not through a server. From the start of the move, packages contain the new ' +
    'address as their webServiceURL. The servers push to each phone once, at a limited pace, so that the phone ' +
    'fetches a package. They continue even after this command ends. The new address must lead to this server, or to ' +
    'a server that imported the passes ("passes export --handover"), because phones keep their serial numbers and ' +
    'tokens. Keep this server running under the old address until the phones have moved. Passes at Google contain no ' +
    'address and do not change. See docs/guides/hand-over.md.'
  static override examples = [
    '<%= config.bin %> move-out --to https://passes.example.com/apple',
    { description: 'Show the progress', command: '<%= config.bin %> move-out --status --json' },
    {
      description: 'Stop the move, so that packages contain the address of this server again',
      command: '<%= config.bin %> move-out --cancel',
    },
  ]
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Workspace (name or ID).', default: 'default' }),
    to: Flags.string({ summary: 'New webServiceURL of the packages: an https address without /v1.' }),
    pace: Flags.integer({
      summary: 'Rate of the pushes, in passes per second (default: 50, or the pace of the running move).',
      min: 1,
      max: 1_000,
    }),
    status: Flags.boolean({ summary: 'Show the progress, and change nothing.', exclusive: ['to', 'cancel'] }),
    cancel: Flags.boolean({
      summary: 'Stop the move. Phones that have moved keep the new address.',
      exclusive: ['to'],
    }),
    detach: Flags.boolean({ summary: 'Start the move, and do not wait for the phones.', dependsOn: ['to'] }),
    unchecked: Flags.boolean({
      summary: 'Skip the check that the new address serves a pass.',
      dependsOn: ['to'],
    }),
    yes: skipFlag,
    'apple-pass-type': serveFlags['apple-pass-type'],
  }

  async run() {
    const { flags } = await this.parse(MoveOut)
    const { withStore } = await import('../server/operator/operator.ts')
    const { cancelMove, checkTarget, findMove, parseMoveTarget, startMove } = await import(
      '../server/operator/move-out.ts'
    )
    const { workspace, to, database } = flags
    const read = () => withStore(database, (store) => findMove(store, workspace))
    const promptOptions = { yes: flags.yes ?? false, noInput: flags['no-input'] }
    if (flags.cancel) {
      const move = await read()
      if (move)
        await confirm(
          'Put the address of this server into packages again? Phones that have moved keep the new address.',
          promptOptions,
        )
      await withStore(database, (store) => cancelMove(store, workspace, new Date()))
      this.log(
        `Canceled. Phones that have moved to ${move?.url} and keep that address: ${count(move?.progress.moved ?? 0)}`,
      )
      return { cancelled: true, ...shown(move) }
    }
    if (flags.status) return this.report(await read())
    if (to === undefined) throw new UsageError('Give --to ADDRESS, --status, or --cancel.')
    const target = parseMoveTarget(to)
    if ('problem' in target) throw new UsageError(`--to ${to} ${target.problem}`)
    const { url } = target
    const passTypeIdentifier = flags['apple-pass-type']
    await withStore(database, async (store) => {
      if (!flags.unchecked && !(await checkTarget(store, workspace, { url, passTypeIdentifier })))
        this.note('No phone holds a pass, so no pass was requested from the address.')
    })
    await confirm(`Move all phones of ${workspace} to ${url}? Only the server there can move them back.`, promptOptions)
    const begun = { url, passesASecond: flags.pace, at: new Date() }
    await withStore(database, (store) => startMove(store, workspace, begun))
    if (!flags.detach) await this.follow(read)
    return this.report(await read())
  }

  /** Waits until a push was sent to each phone. A phone that is off can move weeks later. */
  private async follow(read: () => Promise<Move | undefined>): Promise<void> {
    using stop = onInterrupt()
    let progress: Progress | undefined
    try {
      let [seen, since] = [-1, Date.now()]
      for (;;) {
        const askedAt = Date.now()
        const move = await read()
        if (!move) return
        // Each `read` counts all phones. Without a pause, repeated counts would slow down the database.
        const restMs = Math.max(POLL_MS, (Date.now() - askedAt) * REST_FACTOR)
        const { moved, silent, refused, waiting, passes } = move.progress
        const done = moved + silent + refused
        const start = { done, rows: moved, failed: refused }
        progress ??= await startProgress({ total: done + waiting, start, unit: 'phones moved' })
        progress.update(start)
        if (move.toldAt !== null && waiting === 0) return
        if (passes + done !== seen) [seen, since] = [passes + done, Date.now()]
        if (Date.now() - since > TIMEOUT_MS) {
          progress.note('No progress for 20 s: is a server running on the database, and does Apple respond to it?')
          since = Number.POSITIVE_INFINITY
        }
        await sleep(restMs, undefined, { signal: stop.signal }).catch(() => undefined)
        if (stop.signal.aborted) {
          const hint =
            'to see the progress, run "passes move-out --status"; to stop the move, run "passes move-out --cancel".'
          throw new InterruptedError('The servers of the database continue the move.', { hint })
        }
      }
    } finally {
      progress?.[Symbol.dispose]()
    }
  }

  private report(move: Move | undefined) {
    if (!move) {
      this.log('No move is in progress: the phones of this workspace use this server.')
      return { url: null }
    }
    const { passes, moved, silent, refused, waiting } = move.progress
    this.log(
      `Phones have been moving to ${move.url} since ${localTime(move.startedAt)}; pushes were sent for ${counted(passes, 'pass', 'passes')}.\n`,
    )
    const rows: [string, number][] = [
      ['moved', moved],
      ['pushed, not moved yet', silent],
      ['push rejected', refused],
      ['waiting', waiting],
    ]
    this.log(
      table(rows, [
        { title: 'phones', value: ([name]) => name },
        { title: 'number', value: ([, n]) => count(n) },
      ]),
    )
    if (silent + refused + waiting > 0)
      this.note('\nKeep this server running under the old address until all phones have moved.')
    return shown(move)
  }
}

function shown(move: Move | undefined) {
  if (!move) return { url: null }
  const { url, passesASecond, startedAt, toldAt, progress } = move
  return { url, passesASecond, startedAt: startedAt.toISOString(), toldAt: toldAt?.toISOString() ?? null, ...progress }
}

const POLL_MS = 1_000
/** The pause after a count of phones, as a multiple of the duration of the count. */
const REST_FACTOR = 10
const TIMEOUT_MS = 20_000

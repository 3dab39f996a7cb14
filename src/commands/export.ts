import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Flags } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'
import { CliError, InterruptedError, UsageError } from '../cli/command/cli-error.ts'
import { existingFile, forceFlag } from '../cli/command/existing-file.ts'
import { count, counted } from '../cli/command/output.ts'
import { commandLine, onInterrupt } from '../cli/command/program.ts'
import { startProgress } from '../cli/command/progress.ts'
import { databaseFlags, parsePlatforms, serveFlags } from '../cli/settings/server-flags.ts'
import type { Platform } from '../core/contract/schemas/platform.ts'
import { lockFile } from '../files/file-lock.ts'
import { draftOf, exists, writePrivateWhole } from '../files/private-file.ts'
import type { HandOverCounts } from '../server/operator/hand-over.ts'

export default class Export extends BaseCommand {
  static override summary = 'Export passes to a file for another server.'
  static override description =
    'Accesses the database directly, not through a server. First start the server with --freeze; otherwise, the next ' +
    'server would not know phones that add a pass during the export. The file contains valid codes and the tokens of ' +
    'phones, so only its owner can read it. The file gets its final name when it is complete. Import the file with ' +
    '"passes import". The ledger of scans is not exported. Balances are exported only with --balances. See ' +
    'docs/guides/hand-over.md.'
  static override examples = [
    '<%= config.bin %> export --handover members.csv',
    {
      description: 'Export the passes of one project under one identity',
      command: '<%= config.bin %> export --handover tour.csv --workspace acme --project Tour --identity club',
    },
  ]
  static override flags = {
    ...databaseFlags,
    handover: Flags.string({ summary: 'File to write.', required: true }),
    balances: Flags.string({
      summary: 'Second file to write: the balances, as input of "passes balances import".',
    }),
    workspace: Flags.string({ summary: 'Workspace (name or ID).', default: 'default' }),
    project: Flags.string({ summary: 'Only passes of this project (name or ID).' }),
    template: Flags.string({ summary: 'Only passes of this template (key, name, or ID).' }),
    identity: Flags.string({
      summary: 'Only passes of this identity (name); "server" means the identity from the flags of "passes serve".',
    }),
    force: forceFlag,
    platforms: serveFlags.platforms,
    'apple-pass-type': serveFlags['apple-pass-type'],
    'google-issuer-id': serveFlags['google-issuer-id'],
  }

  async run() {
    const { flags } = await this.parse(Export)
    const file = resolve(flags.handover)
    if (flags.handover === '-')
      throw new UsageError('The file contains secrets and is not written to stdout: give a file name.')
    const balancesFile = flags.balances === undefined ? undefined : resolve(flags.balances)
    if (balancesFile === file) throw new UsageError('--handover and --balances name the same file.')
    for (const path of balancesFile === undefined ? [file] : [file, balancesFile]) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
        throw new UsageError(`${path} is a folder. Give the name of a file in it.`)
      if (!(await exists(dirname(path))))
        throw new CliError(`The folder ${dirname(path)} does not exist. Create it first.`)
      // Require --force also for an empty file, because the final rename would replace it.
      if (!flags.force && (await exists(path))) throw existingFile(path)
    }
    const names = {
      platforms: parsePlatforms(flags.platforms),
      passTypeIdentifier: flags['apple-pass-type'],
      issuerId: flags['google-issuer-id'],
    }
    const lock = await lockFile(file, (message) => this.note(message))
    using stop = onInterrupt()
    const { withStore } = await import('../server/operator/operator.ts')
    const { openHandOver } = await import('../server/operator/hand-over.ts')
    const { formatRows, outputDialect } = await import('../cli/bulk/csv.ts')
    const dialect = outputDialect({ rawCells: false })
    try {
      if (await exists(draftOf(file))) this.note(`Removing ${draftOf(file)}, which a killed run left behind.`)
      return await withStore(flags.database, async (store) => {
        let show = (_looked: number, _rows: number): void => undefined
        const { total, header, pages, balances, counts, identities, audit } = await openHandOver(store, flags, {
          at: new Date(),
          names,
          signal: stop.signal,
          onProgress: (looked, rows) => show(looked, rows),
        })
        const start = { done: total, rows: 0, failed: 0 }
        using progress = await startProgress({ total: total * 2, start, unit: 'passes' })
        show = (done, rows) => progress.update({ done, rows, failed: 0 })
        const replaces = flags.force
        async function* balancePieces() {
          for await (const page of balances) yield formatRows(page, dialect)
        }
        async function* pieces() {
          yield formatRows([header], dialect)
          for await (const page of pages) yield formatRows(page, dialect)
          // Complete the balances first, so that no file of passes remains without them.
          if (balancesFile) await writePrivateWhole(balancesFile, balancePieces(), { replaces })
          lock.assertHeld()
          await audit(new Date())
        }
        await writePrivateWhole(file, pieces(), { replaces })
        return this.report(file, counts, identities)
      })
    } catch (error) {
      if (stop.signal.aborted) {
        throw new InterruptedError('Stopped: nothing was written.', { hint: `start over with: ${commandLine()}` })
      }
      const { code, dest = file } = error as NodeJS.ErrnoException & { dest?: string }
      throw code === 'EEXIST' ? existingFile(dest) : error
    } finally {
      await lock.release()
    }
  }

  private report(file: string, counts: HandOverCounts, identities: Record<Platform, Set<string>>) {
    const { passes, devices, googleObjects, unissued, devicesLeftOut, valuesLeftOut } = counts
    this.log(
      `${counted(passes, 'pass', 'passes')} with ${counted(devices, 'phone')} and ${counted(googleObjects, 'object')} at Google in ${file}`,
    )
    const of = { apple: [...identities.apple], google: [...identities.google] }
    for (const [platform, found] of Object.entries(of)) {
      if (found.length < 2) continue
      this.note(
        `The passes have several identities for ${platform}: ${found.join(', ')}. An import accepts one: export each with --identity.`,
      )
    }
    if (unissued > 0) this.note(`Omitted passes that are not issued: ${count(unissued)}.`)
    if (devicesLeftOut > 0)
      this.note(`Omitted phones: ${count(devicesLeftOut)}. An import accepts 100 per pass, and no IDs with spaces.`)
    if (valuesLeftOut > 0) {
      this.note(
        `Omitted values of variables: ${count(valuesLeftOut)}. A value is omitted if it is empty, or if the name of ` +
          'its variable is a column of the file.',
      )
    }
    this.note(
      'The file contains secrets: delete it after the import. Scans stay here, so the next server does not know ' +
        'which passes were used.',
    )
    return { file, ...counts, identities: of }
  }
}

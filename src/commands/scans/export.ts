import { resolve } from 'node:path'
import { Flags } from '@oclif/core'
import { formerly, outFlag, rawCellsFlag } from '../../cli/arguments/list-flags.ts'
import { InterruptedError, UsageError } from '../../cli/command/cli-error.ts'
import { ClientCommand, PATIENT_ATTEMPTS } from '../../cli/command/client-command.ts'
import { forceFlag } from '../../cli/command/existing-file.ts'
import { counted } from '../../cli/command/output.ts'
import { commandLine, onInterrupt } from '../../cli/command/program.ts'
import { scanFilterFlags } from '../../cli/scan-list/formats.ts'

export default class ScansExport extends ClientCommand {
  static override summary = 'Export the ledger of scans, newest first.'
  static override description =
    'Accepts the filters of "passes scans list", and uses constant memory. With --out, a journal next to the file ' +
    '(FILE.journal) records the progress until the export is complete. Stop with Ctrl-C; run the same command again ' +
    'to resume without gaps or duplicates. An interrupted export to stdout prints the --cursor from which to ' +
    'continue.'
  static override examples = [
    { description: 'Export the whole ledger', command: '<%= config.bin %> scans export --out ledger.csv' },
    {
      description: 'Export the rejected scans of a day',
      command:
        '<%= config.bin %> scans export --result denied --from 2027-05-31T00:00:00Z --to 2027-05-31T23:59:59Z > denied.csv',
    },
    {
      description: 'Export the scans of one context to another program',
      command: '<%= config.bin %> scans export --format jsonl --context 2027-05-31 | jq -r .externalPassId',
    },
  ]
  static override flags = {
    ...scanFilterFlags,
    // Do not accept relative times. Otherwise, a command that resumes an export would select other scans.
    from: Flags.string({ summary: 'Only scans at or after this time, such as 2027-05-31T00:00:00Z.' }),
    to: Flags.string({ summary: 'Only scans at or before this time.' }),
    format: Flags.option({
      summary: 'Output format: CSV, or JSON with one scan per line, as with --json (default: csv).',
      options: ['csv', 'jsonl'] as const,
    })(),
    'raw-cells': rawCellsFlag,
    out: outFlag('Output file', formerly('output')),
    restart: Flags.boolean({
      summary: 'Ignore the journal of an earlier export, and start from scratch.',
      dependsOn: ['out'],
    }),
    force: forceFlag,
    cursor: Flags.string({
      summary: 'Cursor from which to continue an interrupted export to stdout; no header is written.',
      exclusive: ['out'],
    }),
  }

  async run() {
    const { flags } = await this.parse(ScansExport)
    const isStream = flags.out === undefined
    if (isStream && this.jsonEnabled() && flags.format === 'csv')
      throw new UsageError('--json and --format csv exclude each other: remove one')
    const format = flags.format ?? (isStream && this.jsonEnabled() ? 'jsonl' : 'csv')
    using stop = onInterrupt()
    let hasBegun = false
    try {
      const { exportScans } = await import('../../cli/scan-list/export-scans.ts')
      const client = this.connect(flags)
      const result = await exportScans({
        client,
        flags,
        format,
        stop: stop.signal,
        server: this.connection!.url.value,
        sender: (onRetry) => {
          hasBegun = true
          return this.connect(flags, { attempts: PATIENT_ATTEMPTS, onRetry })
        },
        note: (message) => this.note(message),
      })
      const { rows, cursor } = result
      if (stop.signal.aborted && cursor !== null) {
        throw new InterruptedError(`Stopped: ${counted(rows, 'scan is', 'scans are')} written`, {
          hint: `resume with: ${goOn(flags, cursor)}`,
          details: { rows, command: goOn(flags, cursor) },
        })
      }
      this.note(`${counted(rows, 'scan')}${isStream ? '' : ` in ${flags.out}`}`)
      return isStream ? undefined : { file: resolve(flags.out!), format, rows }
    } catch (error) {
      if (hasBegun && !isStream && !stop.signal.aborted)
        this.note(`When the error is fixed, resume with: ${goOn(flags)}`)
      throw error
    }
  }
}

/** Returns the command that resumes the export. An export to a file needs no cursor: its journal has the position. */
function goOn(flags: { out?: string | undefined; cursor?: string | undefined }, cursor?: string): string {
  if (flags.out !== undefined) return commandLine({ without: ['--restart'] })
  const place = cursor ?? flags.cursor
  const command = commandLine({ without: ['--cursor', `--cursor=${flags.cursor}`, flags.cursor ?? ''] })
  return place === undefined ? command : `${command} --cursor ${place}`
}

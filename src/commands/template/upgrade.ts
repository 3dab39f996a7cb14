import { Flags } from '@oclif/core'
import { concurrencyFlag, parsePath, rawCellsFlag, repeatable, skipFlag } from '../../cli/arguments/list-flags.ts'
import { namedFlag } from '../../cli/arguments/named.ts'
import type { UpgradeSummary } from '../../cli/changes/upgrade.ts'
import { InterruptedError } from '../../cli/command/cli-error.ts'
import { ClientCommand, PATIENT_ATTEMPTS } from '../../cli/command/client-command.ts'
import { count } from '../../cli/command/output.ts'
import { commandLine, onInterrupt } from '../../cli/command/program.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { templateVersionFlag } from '../../cli/template/template-version.ts'
import { PassStatus } from '../../core/contract/schemas/common.ts'

/** A void pass never changes again. */
const statuses = PassStatus.options.filter((status) => status !== 'VOID')

export default class TemplateUpgrade extends ClientCommand {
  static override summary = 'Upgrade the passes of a template or a project to a published version.'
  static override description =
    'Each pass is updated as by pass update --template-version: it gets one revision and one pass.updated event, and ' +
    'its phones are updated. Void passes do not change. A pass whose variables do not fit the version keeps its ' +
    'version and is reported. Add a column for the missing variable to the file of --failures, and use it with passes ' +
    'update.\n\n' +
    'The estimated duration at Google assumes one issuer, because several issuers work in parallel, and excludes ' +
    'messages that are already queued.\n\n' +
    'Asks for confirmation; without a terminal, --yes is required. Stop with Ctrl-C; run the same command again to ' +
    'resume, which upgrades no pass twice. Exits with 0 if every pass is upgraded, and with 1 if one failed.'
  static override examples = [
    {
      description: 'Show the number of passes, and why some do not fit',
      command: '<%= config.bin %> template upgrade --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --dry-run',
    },
    {
      description: 'Upgrade all passes of a project to the newest versions of their templates, in a script',
      command:
        '<%= config.bin %> template upgrade --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --failures failures.csv --yes',
    },
    {
      description: 'Upgrade only issued passes, to version 3',
      command:
        '<%= config.bin %> template upgrade --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --to 3 --status ISSUED',
    },
  ]
  static override flags = {
    template: namedFlag('template', ' whose passes to upgrade'),
    project: namedFlag('project', ' whose passes to upgrade; none for passes without a project', { mayBeNone: true }),
    to: templateVersionFlag({ summary: 'Version to upgrade to; a number needs --template.', default: 'latest' }),
    status: Flags.option({
      summary: 'Only passes with this status (default: all except VOID). Repeatable.',
      options: statuses,
      ...repeatable,
    })(),
    failures: Flags.string({ summary: 'File for failed passes with their errors.', parse: parsePath }),
    'raw-cells': rawCellsFlag,
    'dry-run': Flags.boolean({ summary: 'Check every pass on the server, and change nothing.', default: false }),
    yes: skipFlag,
    concurrency: concurrencyFlag,
  }

  async run() {
    const { flags } = await this.parse(TemplateUpgrade)
    const dryRun = flags['dry-run']
    const { forecastUpgrade, planUpgrade, upgradePasses } = await import('../../cli/changes/upgrade.ts')
    const plan = await planUpgrade(this.connect(flags), {
      templateId: flags.template,
      projectId: flags.project,
      to: flags.to,
      statuses: flags.status ?? statuses,
    })
    const where = plan.version === undefined ? 'the newest version of its template' : `version ${plan.version}`
    const many = plan.total === 1 ? '1 pass' : `up to ${count(plan.total)} passes`
    const isNothing = plan.total === 0
    const forecast = forecastUpgrade(plan)
    if (forecast) this.note(forecast)
    await confirm(`Move ${many} to ${where}?`, { yes: flags.yes || dryRun || isNothing, noInput: flags['no-input'] })
    using stop = onInterrupt(() =>
      this.note('\nStopping: waiting for requests in flight (Ctrl-C again to stop immediately)'),
    )
    const summary = await upgradePasses({
      plan,
      dryRun,
      failures: flags.failures,
      rawCells: flags['raw-cells'],
      concurrency: flags.concurrency,
      stop: stop.signal,
      sender: (onRetry) => this.connect(flags, { attempts: PATIENT_ATTEMPTS, onRetry }),
    })
    return this.#report(summary)
  }

  async #report(summary: UpgradeSummary): Promise<UpgradeSummary> {
    if (!summary.complete) {
      throw new InterruptedError(`Stopped: ${count(summary.upgraded)} passes are upgraded`, {
        hint: `resume with: ${commandLine()}`,
        details: { ...summary, command: commandLine() },
      })
    }
    const { showReasons, showUpgrade } = await import('../../cli/changes/upgrade.ts')
    this.log(summary.passes === 0 ? 'No pass is on an older version.' : showUpgrade(summary))
    if (summary.failed > 0) {
      this.note(showReasons(summary))
      process.exitCode = 1
    }
    return summary
  }
}

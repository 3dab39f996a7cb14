import { Flags } from '@oclif/core'
import { namedFlag } from '../../cli/arguments/id-argument.ts'
import { parsePath } from '../../cli/arguments/path.ts'
import { rawCellsFlag } from '../../cli/bulk/spreadsheet-cells.ts'
import type { UpgradeSummary } from '../../cli/changes/upgrade.ts'
import { ClientCommand, PATIENT_ATTEMPTS } from '../../cli/command/client-command.ts'
import { InterruptedError } from '../../cli/command/errors.ts'
import { count } from '../../cli/command/output.ts'
import { commandLine, onInterrupt } from '../../cli/command/program.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { templateVersionFlag } from '../../cli/template/template-version.ts'
import { PassStatus } from '../../core/contract/common.ts'

/** A void pass never changes again. */
const statuses = PassStatus.options.filter((status) => status !== 'VOID')

export default class TemplateUpgrade extends ClientCommand {
  static override summary = 'Move the passes of a template or a project forward to a published version.'
  static override description =
    'Each pass is updated as pass update --template-version does it: one revision, one pass.updated event, and the ' +
    'phones that hold it follow. Void passes stay as they are. A pass whose variables do not fit the version stays on ' +
    'its own and is reported: --failures writes a file that, with a column for what is missing, passes update takes.\n\n' +
    'How long Google takes is told for all passes as if they were of one issuer (of several each takes its own side by side), ' +
    'and without what waits for it already, which comes first.\n\n' +
    'Asks first; elsewhere give --yes. Stop it with Ctrl-C and call the same command again: what is moved is not moved ' +
    'twice. Exit code 0: every pass is moved; 1: one failed.'
  static override examples = [
    {
      description: 'See how many passes would move, and which would not fit and why',
      command: '<%= config.bin %> template upgrade --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --dry-run',
    },
    {
      description: 'Bring a whole project to the newest version of each template, in a script',
      command:
        '<%= config.bin %> template upgrade --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --failures failures.csv --yes',
    },
    {
      description: 'Only valid passes, to version 3',
      command:
        '<%= config.bin %> template upgrade --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --to 3 --status ISSUED',
    },
  ]
  static override flags = {
    template: namedFlag('template', ' whose passes move'),
    project: namedFlag('project', ' whose passes move; none for passes without one', { mayBeNone: true }),
    to: templateVersionFlag({ summary: 'The version (latest); a number needs --template.', default: 'latest' }),
    status: Flags.option({
      summary: 'Only passes with this status (all but VOID). Repeatable.',
      options: statuses,
      multiple: true,
      multipleNonGreedy: true,
    })(),
    failures: Flags.string({
      summary: 'Write the passes that fail, with their error, to this file.',
      parse: parsePath,
    }),
    'raw-cells': rawCellsFlag,
    'dry-run': Flags.boolean({ summary: 'Ask the server about every pass and change nothing.', default: false }),
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
    concurrency: Flags.integer({ summary: 'Passes in flight at once.', default: 8, min: 1, max: 16 }),
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
    const stop = new AbortController()
    const release = onInterrupt(() => {
      stop.abort()
      this.note('\nStopping: waiting for what is in flight (Ctrl-C again to stop at once)')
    })
    try {
      const summary = await upgradePasses({
        plan,
        dryRun,
        failures: flags.failures,
        rawCells: flags['raw-cells'],
        concurrency: flags.concurrency,
        stop: stop.signal,
        sender: (onRetry) => this.connect(flags, { attempts: PATIENT_ATTEMPTS, onRetry }),
      })
      return await this.#report(summary)
    } finally {
      release()
    }
  }

  async #report(summary: UpgradeSummary): Promise<UpgradeSummary> {
    if (!summary.complete) {
      throw new InterruptedError(`Stopped: ${count(summary.upgraded)} passes are moved`, {
        hint: `go on with: ${commandLine()}`,
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

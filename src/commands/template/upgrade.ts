import { Flags } from '@oclif/core'
import { skipFlag } from '../../cli/arguments/list-flags.ts'
import { namedArg } from '../../cli/arguments/named.ts'
import { parseWhere, whereFlag } from '../../cli/arguments/where-flag.ts'
import { ClientCommand, PATIENT_ATTEMPTS } from '../../cli/command/client-command.ts'
import { count } from '../../cli/command/output.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { templateVersionFlag } from '../../cli/template/template-version.ts'
import type { Upgrade } from '../../core/contract/templates/upgrades.ts'

export default class TemplateUpgrade extends ClientCommand {
  static override summary = 'Upgrade the passes of a template to a published version.'
  static override description =
    'The server upgrades the passes in the background, in order of creation, and the command shows the progress. ' +
    'Each pass is updated as by "passes pass update --template-version": it gets one revision and one pass.updated ' +
    'event, and its phones are updated. Void passes do not change. If the variables of a pass are not valid for the ' +
    'new version, the pass keeps its old version, and the command reports it.\n\n' +
    'For a canary, run the command with --limit 100, check these passes, and run it again without --limit. Passes ' +
    'that already have the version count toward the limit, so repeating --limit 100 changes no further passes.\n\n' +
    'The estimated duration at Google is for one issuer; several issuers work in parallel. It excludes messages that ' +
    'are already queued.\n\n' +
    'Asks for confirmation; without a terminal, --yes is required. Ctrl-C stops only the display: the upgrade ' +
    'continues on the server until it is done, or until you run "passes upgrade cancel". Exits with 0 if every pass ' +
    'is upgraded, and with 1 if one failed.'
  static override examples = [
    {
      description: 'Check every pass, and show why some cannot be upgraded',
      command: '<%= config.bin %> template upgrade day-ticket --dry-run',
    },
    {
      description: 'Upgrade the oldest 100 passes',
      command: '<%= config.bin %> template upgrade day-ticket --limit 100',
    },
    {
      description: 'Upgrade the passes with the tier gold that are in a wallet',
      command: '<%= config.bin %> template upgrade day-ticket --where variable=tier:gold --where installed=true',
    },
    {
      description: 'Upgrade all passes to version 3, in a script',
      command: '<%= config.bin %> template upgrade 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --to 3 --yes --json',
    },
  ]
  static override args = { template: namedArg('template') }
  static override flags = {
    to: templateVersionFlag({ summary: 'Version to upgrade to.', default: 'latest' }),
    where: whereFlag,
    limit: Flags.integer({ summary: 'Maximum number of passes, in order of creation.', min: 1, max: 10_000_000 }),
    'dry-run': Flags.boolean({ summary: 'Let the server check the passes, and change nothing.', default: false }),
    yes: skipFlag,
  }

  async run(): Promise<Upgrade> {
    const { args, flags } = await this.parse(TemplateUpgrade)
    const {
      failureText,
      findNewerDraft,
      forecastUpgrade,
      planUpgrade,
      setExitCode,
      showUpgrade,
      startUpgrade,
      watchUpgrade,
    } = await import('../../cli/template/upgrade.ts')
    // Retry for longer: otherwise, a restart of the server would end the watch of the upgrade.
    const client = this.connect(flags, { attempts: PATIENT_ATTEMPTS })
    const chosen = { filter: parseWhere(flags.where), limit: flags.limit }
    const dryRun = flags['dry-run']
    const draft = flags.to === 'latest' && (await findNewerDraft(client, args.template))
    if (draft) this.note(draft)
    if (!dryRun) {
      const plan = await planUpgrade(client, args.template, chosen)
      const forecast = forecastUpgrade(plan)
      if (forecast) this.note(forecast)
      const passes = plan.passes === 1 ? '1 pass' : `up to ${count(plan.passes)} passes`
      const version = flags.to === 'latest' ? 'the latest version' : `version ${flags.to}`
      const yes = flags.yes || plan.passes === 0
      await confirm(`Upgrade ${passes} to ${version}?`, { yes, noInput: flags['no-input'] })
    }
    const started = await startUpgrade(client, args.template, { to: flags.to, dryRun, ...chosen })
    const upgrade = await watchUpgrade(client, started)
    this.log(showUpgrade(upgrade))
    const failures = failureText(upgrade)
    if (failures) this.note(failures)
    setExitCode(upgrade)
    return upgrade
  }
}

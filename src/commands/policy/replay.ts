import { Flags } from '@oclif/core'
import { namedFlag, requiredFlag } from '../../cli/arguments/id-argument.ts'
import { pastFlag } from '../../cli/arguments/list-flags.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { duration } from '../../cli/command/output.ts'
import { showReplay } from '../../cli/records.ts'
import { readJsonFile } from '../../cli/template/json-file.ts'
import { RedemptionPolicy } from '../../core/contract/redemption.ts'

const NOTE_EVERY_MS = 5_000

export default class PolicyReplay extends ClientCommand {
  static override summary = 'Evaluate the ledger of scans again under another policy.'
  static override description =
    'Shows how the scans of a time range would have been decided if every pass had the policy of the file, by reason ' +
    'and gate. Records nothing. The file contains a policy as pass get shows it, such as { "maxUses": 2 }. Works for ' +
    'at most a million scans, which take minutes: set --timeout 300.'
  static override examples = [
    '<%= config.bin %> policy replay --project "Polyglot 2027" --policy strict.json --from 2027-05-30T00:00Z',
    {
      description: 'The last day of one template, for a script',
      command:
        '<%= config.bin %> policy replay --project "Polyglot 2027" --template day-ticket --policy strict.json --from 24h --json',
    },
  ]
  static override flags = {
    project: requiredFlag('project'),
    policy: Flags.string({ summary: 'File with the policy as JSON; - reads stdin.', required: true }),
    template: namedFlag('template', ', to replay only its passes'),
    from: pastFlag('At or after this time: 2027-05-31T00:00:00Z, or 12h for twelve hours ago. All by default.'),
    to: pastFlag('At or before this time. Now by default.'),
  }

  async run() {
    const { flags } = await this.parse(PolicyReplay)
    const { project: projectId, template: templateId } = flags
    const { value: policy } = await readJsonFile(flags.policy, RedemptionPolicy, 'a redemption policy')
    const { from = '1970-01-01T00:00:00Z', to = new Date().toISOString() } = flags
    const startedAt = Date.now()
    const notes = setInterval(() => {
      this.note(`Judging the ledger again, for ${duration((Date.now() - startedAt) / 1000)} …`)
    }, NOTE_EVERY_MS)
    try {
      const body = { projectId, policy, from, to, ...(templateId !== undefined && { templateId }) }
      const result = await this.connect(flags).scans.replay({ body })
      this.log(showReplay(result, terminalWidth()))
      return result
    } finally {
      clearInterval(notes)
    }
  }
}

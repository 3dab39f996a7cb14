import { BaseCommand } from '../../cli/command/base-command.ts'
import { verifyAndReport, verifyArgs, verifyFlags } from '../../cli/evidence/verify.ts'

export default class AuditVerify extends BaseCommand {
  static override summary = 'Verify that nobody changed, removed or inserted anything in the audit log.'
  static override description =
    'Works straight on the database, and reads alone; or, given what passes audit prove wrote, on that file without a ' +
    'database. Names what was found, and exits 1 where it found anything. docs/guides/evidence.md says what it proves.'
  static override examples = [
    '<%= config.bin %> audit verify',
    '<%= config.bin %> audit verify --json > kept.json',
    {
      description: 'Against what was kept elsewhere, so that nobody can put an older database in its place',
      command: '<%= config.bin %> audit verify --kept kept.json --public-key ledger.pem',
    },
    '<%= config.bin %> audit verify audit.jsonl --public-key ledger.pem',
  ]
  static override args = verifyArgs
  static override flags = verifyFlags

  async run() {
    const { args, flags } = await this.parse(AuditVerify)
    return verifyAndReport(this, 'audit', { file: args.file, ...flags }, async (known) => {
      const { verifyDatabase } = await import('../../server/operator/verify-chains.ts')
      return verifyDatabase('audit', { ...flags, ...known })
    })
  }
}

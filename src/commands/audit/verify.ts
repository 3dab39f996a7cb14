import { BaseCommand } from '../../cli/command/base-command.ts'
import { verifyAndReport, verifyArgs, verifyFlags } from '../../cli/evidence/verify-chain.ts'

export default class AuditVerify extends BaseCommand {
  static override summary = 'Verify that no entry of the audit log was changed, removed, or inserted.'
  static override description =
    'Reads the database, or, without a database, a file that passes audit prove wrote. Lists problems, and exits ' +
    'with 1 if there are any. See docs/guides/evidence.md.'
  static override examples = [
    '<%= config.bin %> audit verify',
    '<%= config.bin %> audit verify --json > kept.json',
    {
      description: 'Compare with a head kept elsewhere, to detect an older database',
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

import { BaseCommand } from '../../cli/command/base-command.ts'
import { verifyAndReport, verifyArgs, verifyFlags } from '../../cli/evidence/verify.ts'

export default class ScansVerify extends BaseCommand {
  static override summary = 'Verify that nobody changed, removed or inserted anything in the ledger of scans.'
  static override description =
    'Works straight on the database, and reads alone; or, given what passes scans prove wrote, on that file without a ' +
    'database. Names what was found, and exits 1 where it found anything. docs/guides/evidence.md says what it proves.'
  static override examples = [
    '<%= config.bin %> scans verify',
    '<%= config.bin %> scans verify --json > kept.json',
    {
      description: 'Against what was kept elsewhere, so that nobody can put an older database in its place',
      command: '<%= config.bin %> scans verify --kept kept.json --public-key ledger.pem',
    },
    '<%= config.bin %> scans verify scans.jsonl --public-key ledger.pem',
  ]
  static override args = verifyArgs
  static override flags = verifyFlags

  async run() {
    const { args, flags } = await this.parse(ScansVerify)
    return verifyAndReport(this, 'scans', { file: args.file, ...flags }, async (known) => {
      const { verifyDatabase } = await import('../../server/operator/verify-chains.ts')
      return verifyDatabase('scans', { ...flags, ...known })
    })
  }
}

import { BaseCommand } from '../../cli/command/base-command.ts'
import { verifyAndReport, verifyArgs, verifyFlags } from '../../cli/evidence/verify-chain.ts'

export default class ScansVerify extends BaseCommand {
  static override summary = 'Verify that no entry of the ledger of scans was changed, removed, or inserted.'
  static override description =
    'Reads the database, or, without a database, a file that passes scans prove wrote. Lists problems, and exits ' +
    'with 1 if there are any. See docs/guides/evidence.md.'
  static override examples = [
    '<%= config.bin %> scans verify',
    '<%= config.bin %> scans verify --json > kept.json',
    {
      description: 'Compare with a head kept elsewhere, to detect an older database',
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

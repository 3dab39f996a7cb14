import { BaseCommand } from '../../cli/command/base-command.ts'
import { readKnown, report, verifyArgs, verifyFile, verifyFlags } from '../../cli/evidence/verify.ts'

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
    const known = await readKnown(flags)
    const isKeyKnown = known.publicKey !== undefined
    if (args.file !== undefined) {
      return report(this, { chains: [await verifyFile(args.file, 'scans', known)], waiting: 0, isKeyKnown })
    }
    const { withStore } = await import('../../server/operator/operator.ts')
    const { verifyChains } = await import('../../server/operator/verify-chains.ts')
    const verified = await withStore(flags.database, (store) =>
      verifyChains(store, 'scans', { workspace: flags.workspace, ...known }),
    )
    return report(this, { ...verified, isKeyKnown })
  }
}

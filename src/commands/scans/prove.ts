import { BaseCommand } from '../../cli/command/base-command.ts'
import { writeOut } from '../../cli/command/output.ts'
import { proveFlags } from '../../cli/evidence/verify-chain.ts'

export default class ScansProve extends BaseCommand {
  static override enableJsonFlag = false
  static override summary = 'Write the ledger of scans with its proof, for passes scans verify on another machine.'
  static override description =
    'Works on the database. Writes JSON lines: the end of the chain with its signature, the signed hourly heads, and ' +
    'each entry with its digest. The file contains the personal data of the entries.'
  static override examples = [
    '<%= config.bin %> scans prove --workspace acme --out scans.jsonl',
    '<%= config.bin %> scans prove --database sqlite:/srv/passes/passes.sqlite --out scans.jsonl',
  ]
  static override flags = proveFlags

  async run() {
    const { flags } = await this.parse(ScansProve)
    const { writeProof } = await import('../../server/operator/verify-chains.ts')
    await writeProof('scans', flags, writeOut)
    if (flags.out !== undefined) this.note(`The proof was written to ${flags.out}`)
  }
}

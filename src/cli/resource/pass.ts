import { Flags } from '@oclif/core'
import { getPass, getPassId, ifMatchFlag, passArgs, passFlags } from '../arguments/pass-argument.ts'
import { terminalWidth } from '../command/base-command.ts'
import { showPass, showWallets } from '../records.ts'
import { PASS } from './example-ids.ts'
import { callCommand, type ResourceCommands } from './resource-command.ts'

/** The commands `pass …` that are one call of the API. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a pass with its links.',
    examples: [`pass get ${PASS}`, 'pass get T-1 --external --json'],
    args: passArgs,
    flags: {
      ...passFlags,
      wallets: Flags.boolean({ summary: 'Include the phones that hold it, as pass wallets does.' }),
    },
    async call(client, { args: { id }, flags: { external, wallets } }) {
      if (!wallets) return getPass(client, { id, external })
      const params = { id: await getPassId(client, { id, external }) }
      return client.passes.get({ params, query: { include: ['wallets'] } })
    },
    print: (pass) =>
      pass.wallets ? `${showPass(pass)}\n\n${showWallets(pass.wallets, terminalWidth())}` : showPass(pass),
  }),
  void: callCommand({
    summary: 'Void a pass permanently.',
    description:
      'It can no longer be scanned, its links are closed, and cards on phones show it as void. Asks for confirmation; scripts ' +
      'add --yes. To void many passes, use void with a CSV file.',
    examples: [`pass void ${PASS} --reason refunded`, 'pass void T-1 --external --yes --json'],
    args: passArgs,
    flags: { ...passFlags, reason: Flags.string({ summary: 'Reason, up to 255 characters, forwarded to webhooks.' }) },
    asks: true,
    async call(client, { args, flags: { external, reason }, ask }) {
      const id = await getPassId(client, { id: args.id, external })
      await ask(`Void pass ${args.id}?`)
      return client.passes.void({ params: { id }, body: { reason } })
    },
    print: (_, { args }) => `Pass ${args.id} is void.`,
  }),
  'revoke-links': callCommand({
    summary: 'Revoke the hosted links of a pass.',
    description:
      'Cards that are already on phones stay; to end those, void the pass. pass get shows fresh links afterwards. Asks for ' +
      'confirmation; scripts add --yes.',
    examples: [`pass revoke-links ${PASS}`, 'pass revoke-links T-1 --external --yes --json'],
    args: passArgs,
    flags: passFlags,
    asks: true,
    async call(client, { args, flags: { external }, ask }) {
      const id = await getPassId(client, { id: args.id, external })
      await ask(`Revoke the links of pass ${args.id}?`)
      return client.passes.revokeLinks({ params: { id } })
    },
    print: ({ revokedCount }, { args }) => `${revokedCount} links of pass ${args.id} are revoked.`,
  }),
  'rotate-code': callCommand({
    summary: 'Replace the scan code of a pass.',
    description:
      'Cards on phones show the new code after their next update. Prints and screenshots of the old code are rejected. Asks for ' +
      'confirmation; scripts add --yes.',
    examples: [
      'pass rotate-code T-1 --external',
      {
        description: 'Only if its revision is still 3, so that a repeated call makes no third code',
        command: 'pass rotate-code T-1 --external --if-match 3 --yes --json',
      },
    ],
    args: passArgs,
    flags: { ...passFlags, ...ifMatchFlag },
    asks: true,
    async call(client, { args, flags: { external, ...flags }, ask }) {
      const id = await getPassId(client, { id: args.id, external })
      await ask(`Give pass ${args.id} a new code?`)
      return client.passes.rotateCode({ params: { id }, headers: { 'if-match': flags['if-match'] } })
    },
    print: (_, { args }) => `Pass ${args.id} has a new code; the old one is no longer accepted.`,
  }),
  wallets: callCommand({
    summary: 'Show the phones that hold a pass and whether they are current.',
    examples: ['pass wallets T-1 --external', `pass wallets ${PASS} --json`],
    args: passArgs,
    flags: passFlags,
    async call(client, { args: { id }, flags: { external } }) {
      return client.passes.wallets({ params: { id: await getPassId(client, { id, external }) } })
    },
    print: (wallets) => showWallets(wallets, terminalWidth()),
  }),
}

import { Flags } from '@oclif/core'
import { pastFlag } from '../arguments/list-flags.ts'
import { requiredFlag } from '../arguments/named.ts'
import {
  existingFlag,
  getPass,
  ifMatchFlag,
  notifyFlag,
  passArgs,
  passFlags,
  passIdOf,
  splitVariable,
  unsetFlag,
  variableFlag,
  variablesOf,
} from '../arguments/pass-argument.ts'
import { terminalWidth } from '../command/base-command.ts'
import { UsageError } from '../command/cli-error.ts'
import { callCommand, PASS, type ResourceCommands } from '../command/resource-command.ts'
import { createOne } from '../issue/outcomes.ts'
import { showExplanation, showPass, showWallets } from '../records.ts'
import { canColor } from '../settings/settings.ts'
import { templateVersionFlag } from '../template/template-version.ts'

const says = {
  created: 'Created.',
  present: 'Present: the pass already existed with these values.',
  updated: 'Updated: the pass already existed with other values.',
  differs: 'Differs: the pass already existed with other values, and was not changed.',
  void: 'Void: the pass already existed, and was not changed.',
}

export const commands: ResourceCommands = {
  'pass:get': callCommand({
    summary: 'Show a pass with its links.',
    examples: [`pass get ${PASS}`, 'pass get T-1 --external --json'],
    args: passArgs,
    flags: {
      ...passFlags,
      wallets: Flags.boolean({
        summary: 'Include the phones that hold the pass, as "passes pass wallets" shows them.',
      }),
    },
    async call(client, { args, flags }) {
      if (!flags.wallets) return getPass(client, { id: args.id, external: flags.external })
      const params = { id: await passIdOf(client, { args, flags }) }
      return client.passes.get({ params, query: { include: ['wallets'] } })
    },
    print: (pass) =>
      pass.wallets ? `${showPass(pass)}\n\n${showWallets(pass.wallets, terminalWidth())}` : showPass(pass),
  }),
  'pass:create': callCommand({
    summary: 'Create a pass.',
    description:
      'Reports whether the pass was created or already existed with these values; omitted variables are not ' +
      'compared. If the external ID belongs to a pass that differs or is void, the command fails, unless --existing ' +
      'is set. For many passes, use "passes issue" with a CSV file.',
    examples: [
      'pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label "Ada Lovelace"',
      'pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-2 --label Grace --var seat=12A --var hall="Hall 2"',
      {
        description: 'Create or update the pass',
        command:
          'pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label Eve --existing update',
      },
    ],
    flags: {
      template: requiredFlag('template'),
      'external-id': Flags.string({ summary: 'Your key of the pass, unique in the workspace.', required: true }),
      label: Flags.string({ summary: 'Name of the holder.', required: true }),
      group: Flags.string({ summary: 'Group key, which related passes share, such as the tickets of an order.' }),
      var: variableFlag,
      existing: existingFlag,
    },
    async call(client, { flags }) {
      const { template: templateId, label, group, existing } = flags
      const variables = Object.fromEntries(flags.var.map(splitVariable))
      const wanted = { templateId, externalPassId: flags['external-id'], label, variables }
      const { outcome, pass } = await createOne(
        client,
        group === undefined ? wanted : { ...wanted, groupKey: group },
        existing,
      )
      return { ...pass, outcome }
    },
    print: ({ outcome, ...pass }) => `${says[outcome]}\n\n${showPass(pass)}`,
  }),
  'pass:explain': callCommand({
    summary: 'Explain whether a pass would be accepted at a given time, and why.',
    description:
      'Shows each check of a scan in order, with the facts that it used. The first check that fails decides. Records ' +
      'nothing, and exits with 0 for any decision.',
    examples: [
      'pass explain T-1 --external',
      'pass explain 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --at 2027-05-31T19:30:00Z --context 2027-05-31',
    ],
    args: passArgs,
    flags: {
      ...passFlags,
      at: pastFlag('Time of the scan: 2027-05-31T19:30:00Z, "in 2h", or 2h for two hours ago (default: now).'),
      date: Flags.string({ summary: 'Date for which the pass is evaluated (YYYY-MM-DD), instead of the time.' }),
      context: Flags.string({ summary: 'Scan context, such as an event day.' }),
    },
    async call(client, { args, flags }) {
      const id = await passIdOf(client, { args, flags })
      const query = { at: flags.at, validityDate: flags.date, scanContextKey: flags.context }
      return client.scans.explain({ params: { id }, query })
    },
    print: (explanation, { flags }) =>
      showExplanation(explanation, {
        color: canColor(process.stdout) && !flags['no-color'],
        width: terminalWidth(),
      }),
  }),
  'pass:update': callCommand({
    summary: 'Update a pass, and the cards on phones.',
    description:
      'Omitted fields and variables keep their values. All changes of one command are one revision. For many passes, ' +
      'use "passes update" with a CSV file.',
    examples: [
      'pass update T-1 --external --label "Ada King" --var seat=14C --unset hall',
      {
        description: 'Show how the pass would look with the newest version of the template',
        command: 'pass update 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --template-version latest --dry-run --json',
      },
      {
        description: 'Update the pass only if it is still at revision 3',
        command: 'pass update 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --var points=1240 --if-match 3',
      },
    ],
    args: passArgs,
    flags: {
      ...passFlags,
      label: Flags.string({ summary: 'New name of the holder.' }),
      var: variableFlag,
      unset: unsetFlag,
      group: Flags.string({ summary: 'New group key.', exclusive: ['no-group'] }),
      'no-group': Flags.boolean({ summary: 'Remove the pass from its group.' }),
      'template-version': templateVersionFlag({ summary: 'Published version of the template to upgrade to.' }),
      ...ifMatchFlag,
      notify: notifyFlag,
      'dry-run': Flags.boolean({ summary: 'Show the updated pass, and change nothing.' }),
    },
    async call(client, { args, flags }) {
      const changes = {
        label: flags.label,
        groupKey: flags['no-group'] ? null : flags.group,
        variables: variablesOf(flags),
        templateVersion: flags['template-version'],
      }
      if (Object.values(changes).every((value) => value === undefined)) {
        throw new UsageError('There is nothing to change: give --label, --var, --unset or --template-version')
      }
      const id = await passIdOf(client, { args, flags })
      return client.passes.update({
        params: { id },
        query: { dryRun: flags['dry-run'] },
        headers: { 'if-match': flags['if-match'] },
        body: { ...changes, ...(flags.notify && { notify: true }) },
      })
    },
    print: (pass) => showPass(pass),
    note({ notified }, { flags }) {
      const isDryRun = flags['dry-run']
      const rings = notified ? [isDryRun ? 'Android phones would ring.' : 'Android phones ring.'] : []
      return [...rings, ...(isDryRun ? ['Dry run: nothing was changed.'] : [])].join('\n') || undefined
    },
  }),
  'pass:transfer': callCommand({
    summary: 'Give a pass to another holder, with a new code and new links.',
    description:
      'Cards on phones of the former holder turn void with their next update, earlier links are closed, and the old ' +
      'code is rejected. Omitted variables keep their values.',
    examples: [
      'pass transfer T-1 --external --label "Charles Babbage" --var email=charles@example.org --unset requests',
      {
        description: 'Transfer the pass only if it is still at revision 3, so that a retry is not a second transfer',
        command: 'pass transfer T-1 --external --label "Charles Babbage" --if-match 3 --yes --json',
      },
    ],
    args: passArgs,
    flags: {
      ...passFlags,
      label: Flags.string({ summary: 'Name of the new holder.', required: true }),
      var: variableFlag,
      unset: unsetFlag,
      ...ifMatchFlag,
    },
    asks: true,
    async call(client, { args, flags, ask }) {
      const variables = variablesOf(flags)
      const id = await passIdOf(client, { args, flags })
      await ask(`Give pass ${args.id} to ${flags.label}?`)
      return client.passes.transfer({
        params: { id },
        headers: { 'if-match': flags['if-match'] },
        body: { label: flags.label, variables },
      })
    },
    print: showPass,
    note: () => 'Send the links above to the new holder. Previous links are revoked.',
  }),
  'pass:void': callCommand({
    summary: 'Void a pass permanently.',
    description:
      'The pass can no longer be scanned, its links are closed, and cards on phones show it as void. To void many ' +
      'passes, run "passes void" with a CSV file.',
    examples: [`pass void ${PASS} --reason refunded`, 'pass void T-1 --external --yes --json'],
    args: passArgs,
    flags: { ...passFlags, reason: Flags.string({ summary: 'Reason, up to 255 characters, which webhooks receive.' }) },
    asks: true,
    async call(client, { args, flags, ask }) {
      const id = await passIdOf(client, { args, flags })
      await ask(`Void pass ${args.id}?`)
      return client.passes.void({ params: { id }, body: { reason: flags.reason } })
    },
    print: (_, { args }) => `Pass ${args.id} is void.`,
  }),
  'pass:revoke-links': callCommand({
    summary: 'Revoke the hosted links of a pass.',
    description:
      'Cards that are already on phones stay valid; to invalidate them, void the pass. The pass gets new links: to ' +
      'see them, run "passes pass get".',
    examples: [`pass revoke-links ${PASS}`, 'pass revoke-links T-1 --external --yes --json'],
    args: passArgs,
    flags: passFlags,
    asks: true,
    async call(client, { args, flags, ask }) {
      const id = await passIdOf(client, { args, flags })
      await ask(`Revoke the links of pass ${args.id}?`)
      return client.passes.revokeLinks({ params: { id } })
    },
    print: ({ revokedCount }, { args }) => `${revokedCount} links of pass ${args.id} are revoked.`,
  }),
  'pass:rotate-code': callCommand({
    summary: 'Replace the scan code of a pass.',
    description:
      'Cards on phones show the new code after their next update. Printed copies and screenshots of the old code ' +
      'are rejected.',
    examples: [
      'pass rotate-code T-1 --external',
      {
        description:
          'Replace the code only if the pass is still at revision 3, so that a retry does not replace it again',
        command: 'pass rotate-code T-1 --external --if-match 3 --yes --json',
      },
    ],
    args: passArgs,
    flags: { ...passFlags, ...ifMatchFlag },
    asks: true,
    async call(client, { args, flags, ask }) {
      const id = await passIdOf(client, { args, flags })
      await ask(`Give pass ${args.id} a new code?`)
      return client.passes.rotateCode({ params: { id }, headers: { 'if-match': flags['if-match'] } })
    },
    print: (_, { args }) => `Pass ${args.id} has a new code; the old one is no longer accepted.`,
  }),
  'pass:wallets': callCommand({
    summary: 'Show the phones that hold a pass, and whether they have the current version.',
    examples: ['pass wallets T-1 --external', `pass wallets ${PASS} --json`],
    args: passArgs,
    flags: passFlags,
    call: async (client, input) => client.passes.wallets({ params: { id: await passIdOf(client, input) } }),
    print: (wallets) => showWallets(wallets, terminalWidth()),
  }),
}

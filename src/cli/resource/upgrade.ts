import { Flags } from '@oclif/core'
import type { Upgrade } from '../../core/contract/templates/upgrades.ts'
import { idArg, namedArg } from '../arguments/named.ts'
import { callCommand, listCommand, MESSAGE, type ResourceCommands, TEMPLATE } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { failureText, setExitCode, showUpgrade, watchUpgrade } from '../template/upgrade.ts'

const shape: ListShape<Upgrade> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'to', title: 'version', whole: true },
    { name: 'status', whole: true },
    ['dryRun', 'matched', 'upgraded', 'unchanged', 'failed', 'createdAt'],
  ],
  table: ['id', 'to', 'status', 'dryRun', 'upgraded', 'unchanged', 'failed', 'createdAt'],
}

const templateArg = { template: namedArg('template') }
const args = { ...templateArg, upgrade: idArg('upgrade') }

export const commands: ResourceCommands = {
  'upgrade:list': listCommand({
    summary: 'List the upgrades of a template, newest first.',
    description: 'Upgrades are deleted 90 days after they ended. To start one, use "passes template upgrade".',
    examples: [`upgrade list ${TEMPLATE}`, `upgrade list ${TEMPLATE} --all --json`],
    args: templateArg,
    list:
      ({ upgrades }, { args: { template } }) =>
      (call) =>
        upgrades.list({ params: { id: template }, ...call }),
    shape,
    noun: ['upgrade', 'upgrades'],
    empty: 'Next: passes template upgrade',
  }),
  'upgrade:get': callCommand({
    summary: 'Show an upgrade, and why some passes could not be upgraded.',
    description: 'With --watch, shows the progress until the upgrade ends. Ctrl-C stops only the display.',
    examples: [`upgrade get ${TEMPLATE} ${MESSAGE}`, `upgrade get ${TEMPLATE} ${MESSAGE} --watch`],
    args,
    flags: { watch: Flags.boolean({ summary: 'Wait until the upgrade ends.', default: false }) },
    async call(client, { args: { template, upgrade }, flags }) {
      if (!flags.watch) return client.upgrades.get({ params: { id: template, upgradeId: upgrade } })
      const ended = await watchUpgrade(client, { templateId: template, id: upgrade })
      setExitCode(ended)
      return ended
    },
    print: showUpgrade,
    note: failureText,
  }),
  'upgrade:cancel': callCommand({
    summary: 'Stop an upgrade.',
    description: 'Upgraded passes keep the new version. If the upgrade has already ended, nothing changes.',
    examples: [`upgrade cancel ${TEMPLATE} ${MESSAGE}`, `upgrade cancel ${TEMPLATE} ${MESSAGE} --json`],
    args,
    async call({ upgrades }, { args: { template, upgrade } }) {
      const params = { id: template, upgradeId: upgrade }
      await upgrades.cancel({ params })
      return upgrades.get({ params })
    },
    print: showUpgrade,
    note: ({ status }) => (status === 'DONE' ? 'The upgrade had already ended, so nothing was stopped.' : undefined),
  }),
}

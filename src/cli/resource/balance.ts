import { randomUUID } from 'node:crypto'
import { Args, Flags } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { BalanceEntry, PassBalance } from '../../core/contract/balances.ts'
import { balanceText } from '../../core/rules/balances/balances.ts'
import { passArgs, passFlags, passIdOf } from '../arguments/pass-argument.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { count, localTime, table } from '../command/output.ts'
import { callCommand, listCommand, PASS, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'

const ENTRY = '0198c7a9-5d22-7f31-a2c8-3b4d5e6f7a8b'

const shape: ListShape<BalanceEntry> = {
  columns: [
    { name: 'id', kind: 'id' },
    ['passId', 'name', 'delta', 'value'],
    { name: 'externalRef', title: 'reference' },
    ['reason'],
    { name: 'scanId', title: 'scan' },
    { name: 'reversesEntryId', title: 'reverses' },
    ['createdAt'],
  ],
  table: ['id', 'delta', 'value', 'externalRef', 'reason', 'createdAt'],
}

const nameArg = Args.string({ description: 'Name of the balance, as in the definition.', required: true })
const reason = Flags.string({ summary: 'Reason, up to 255 characters.' })
const refSummary = 'Key of up to 255 characters that makes retries safe'

export const commands: ResourceCommands = {
  'pass:balance': callCommand({
    summary: 'Show the balances of a pass.',
    description:
      'Amounts of money are in the unit of their currency, such as 12.40 EUR; --json has minor units, like the API.',
    examples: [`pass balance ${PASS}`, 'pass balance T-1 --external --json'],
    args: passArgs,
    flags: passFlags,
    async call(client, { args, flags }) {
      return client.balances.list({ params: { id: await passIdOf(client, { args, flags }) } })
    },
    print: ({ items }) => (items.length === 0 ? 'The pass has no balances.' : showBalances(items)),
  }),
  'pass:balance:add': callCommand({
    summary: 'Add an entry to a balance of a pass.',
    description:
      'The change is a whole number; for money, in minor units. If the balance already has an entry with the key, ' +
      'the command shows this entry, and changes nothing.',
    examples: [
      'pass balance add T-1 points 10 --ref order-1815',
      {
        description: 'Redeem ten points',
        command: 'pass balance add T-1 points -10 --ref coffee-17 --reason "One coffee"',
      },
    ],
    args: {
      ...passArgs,
      name: nameArg,
      delta: Args.string({ description: 'Change of the balance, such as 10 or -10.', required: true }),
    },
    flags: { ...passFlags, ref: Flags.string({ summary: `${refSummary} (default: a new key).` }), reason },
    async call(client, { args, flags }) {
      const delta = parseDelta(args.delta)
      const id = await passIdOf(client, { args, flags })
      const body = { delta, externalRef: flags.ref ?? randomUUID(), reason: flags.reason }
      return client.balances.createEntry({ params: { id, name: args.name }, body })
    },
    print: ({ entry }) => showEntry(entry),
  }),
  'pass:balance:list': listCommand({
    summary: 'List the entries of a balance of a pass, newest first.',
    examples: ['pass balance list T-1', 'pass balance list T-1 points --all --json'],
    args: {
      ...passArgs,
      name: Args.string({ description: 'Name of the balance; optional if the pass has only one.' }),
    },
    flags: passFlags,
    async list(client, { args, flags }) {
      const id = await passIdOf(client, { args, flags })
      const name = args.name ?? (await onlyBalance(client, id))
      return ({ query }, options) => client.balances.listEntries({ params: { id, name }, query }, options)
    },
    shape,
    noun: ['entry', 'entries'],
    empty: 'Next: passes pass balance add PASS NAME DELTA --ref KEY',
  }),
  'pass:balance:reverse': callCommand({
    summary: 'Reverse an entry of a balance.',
    description:
      'Adds an entry with the opposite change. An entry can be reversed once. Fails if the balance cannot cover the ' +
      'reversal.',
    examples: [
      `pass balance reverse T-1 points ${ENTRY}`,
      `pass balance reverse T-1 points ${ENTRY} --reason "Order canceled" --ref cancel-1815 --json`,
    ],
    args: { ...passArgs, name: nameArg, entry: Args.string({ description: 'ID of the entry.', required: true }) },
    flags: { ...passFlags, ref: Flags.string({ summary: `${refSummary}.` }), reason },
    async call(client, { args, flags }) {
      const params = { id: await passIdOf(client, { args, flags }), name: args.name, entryId: args.entry }
      return client.balances.reverseEntry({ params, body: { externalRef: flags.ref, reason: flags.reason } })
    },
    print: ({ entry }) => showEntry(entry),
  }),
}

/** @throws UsageError */
function parseDelta(text: string): number {
  const delta = Number(text)
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(delta) && delta !== 0) return delta
  throw new UsageError(`${text} is not a change of a balance`, { hint: 'give a whole number other than 0.' })
}

/** @throws CliError if the pass has no balance; UsageError if the pass has several balances */
async function onlyBalance(client: Client, id: string): Promise<string> {
  const { items } = await client.balances.list({ params: { id } })
  const [first, ...others] = items
  if (!first) throw new CliError('The pass has no balances', { code: 'NOT_FOUND' })
  if (others.length === 0) return first.name
  const names = items.map(({ name }) => name).join(', ')
  throw new UsageError('The pass has several balances', { hint: `name one after the pass: ${names}.` })
}

function showBalances(items: PassBalance[]): string {
  return table(items, [
    { title: 'balance', value: ({ name }) => name },
    { title: 'value', value: ({ value, currency }) => amountOf(value, currency) },
    { title: 'updated', value: ({ updatedAt }) => localTime(updatedAt) },
  ])
}

function amountOf(value: number, currency: string | null): string {
  return currency === null ? count(value) : `${balanceText({ currency }, value)} ${currency}`
}

function showEntry({ name, delta, value, id }: BalanceEntry): string {
  return `${delta > 0 ? '+' : ''}${delta} ${name}, now ${value} (entry ${id}).`
}

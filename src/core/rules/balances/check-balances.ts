import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { currencies } from '../display/format-value.ts'
import { maxOf } from './balances.ts'

export function* checkBalances({ balances = {}, balanceRules = [] }: Definition): Generator<Issue> {
  for (const [name, balance] of Object.entries(balances)) {
    const { label, kind, currency, start, min } = balance
    const path = ['balances', name]
    const max = maxOf(balance)
    if (/\{\{|\}\}/.test(label)) yield { path: [...path, 'label'], message: 'Cannot contain placeholders' }
    if (kind === 'currency' && currency === undefined) {
      yield { path: [...path, 'currency'], message: 'Is required for money. Set a currency of ISO 4217, such as EUR' }
    }
    if (kind === 'integer' && currency !== undefined) {
      yield { path: [...path, 'currency'], message: 'Is only for money: set kind to currency, or remove this key' }
    }
    if (currency !== undefined && !currencies().includes(currency)) {
      yield { path: [...path, 'currency'], message: 'Must be a currency of ISO 4217, such as EUR' }
    }
    if (min > max) yield { path: [...path, 'max'], message: `Must be at least ${min}, the minimum` }
    else if (start < min || start > max) {
      yield { path: [...path, 'start'], message: `Must be from ${min} to ${max}, the bounds of the balance` }
    }
  }
  for (const [index, { balance }] of balanceRules.entries()) {
    const path = ['balanceRules', index, 'balance']
    if (!Object.hasOwn(balances, balance)) yield { path, message: `Unknown balance ${balance}: define it in balances` }
    else if (balanceRules.findIndex((other) => other.balance === balance) < index) {
      yield { path, message: `Duplicate rule of ${balance}: a balance can have one rule` }
    }
  }
}

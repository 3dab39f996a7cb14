import type { Card, CardField } from '../../core/rules/display/card.ts'
import { isOfKind, withoutTrailingZeros } from '../../core/rules/display/format-value.ts'
import { kindOf } from './resource.ts'

export interface NativeField {
  field: CardField
  path: string
}

/**
 * Returns the field with the points of a loyalty card or the balance of a gift card. The points are in the field that
 * the definition names. By default, they are the first balance of the pass or, without balances, the first number or
 * amount of money in the primary and then the header fields. The balance of a gift card is the first amount of money
 * in the primary and then the header fields. Returns `undefined` if the definition's overrides already set the value.
 */
export function nativeField(card: Card): NativeField | undefined {
  const { header, primary, secondary, auxiliary } = card.fields
  const { object = {}, points } = card.google
  const kind = kindOf(card)
  const inOrder = [...primary, ...header]
  if (kind === 'loyalty' && object.loyaltyPoints === undefined) {
    const field =
      points === undefined
        ? (balanceField(card) ?? inOrder.find(({ typed }) => typed?.as === 'number' || typed?.as === 'currency'))
        : [...inOrder, ...secondary, ...auxiliary].find(({ key }) => key === points)
    return field && { field, path: 'object.loyaltyPoints.balance' }
  }
  if (kind === 'giftCard' && object.balance === undefined) {
    const field = inOrder.find(({ typed }) => typed?.as === 'currency')
    return field && { field, path: 'object.balance' }
  }
  return undefined
}

/** Returns the front field that shows the first balance of the pass. If no field does, returns this balance itself. */
function balanceField({ balance, fields: { header, primary, secondary, auxiliary } }: Card): CardField | undefined {
  return balance && ([...primary, ...header, ...secondary, ...auxiliary].find(({ isBalance }) => isBalance) ?? balance)
}

/** Returns the keys of the object that hold the value of `nativeField`; none if Google does not accept the value. */
export function nativeValue(card: Card): Record<string, unknown> {
  const { field } = nativeField(card) ?? {}
  if (!field || field.value.trim() === '') return {}
  if (kindOf(card) === 'giftCard') {
    const balance = moneyOf(field)
    return balance ? { balance } : {}
  }
  return { loyaltyPoints: { ...(field.label.trim() !== '' && { label: field.label }), balance: balanceOf(field) } }
}

export function isShownByItself(card: Card, field: CardField): boolean {
  return nativeField(card)?.field === field && Object.keys(nativeValue(card)).length > 0
}

const MAX_INT32 = 2 ** 31 - 1
/** Numbers with up to this many decimal digits are always exact in a double. */
const EXACT_DIGITS = 15

function balanceOf(field: CardField): Record<string, unknown> {
  const { as = 'text', text = '' } = field.typed ?? {}
  const money = moneyOf(field)
  if (money) return { money }
  if (as !== 'number' || !isOfKind(as, text)) return { string: field.value }
  const number = Number(text)
  if (Number.isInteger(number) && Math.abs(number) <= MAX_INT32) return { int: number }
  return text.includes('.') && text.length <= EXACT_DIGITS ? { double: number } : { string: field.value }
}

/**
 * Converts an amount of money to millionths. Returns `undefined` for other values, for amounts with smaller fractions,
 * and for an amount that exceeds an int64.
 */
function moneyOf({ typed }: CardField): { micros: string; currencyCode: string } | undefined {
  const { as, text = '', currency = '' } = typed ?? {}
  if (as !== 'currency' || !isOfKind(as, text) || !/^[A-Z]{3}$/.test(currency)) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const significant = withoutTrailingZeros(fraction)
  if (significant.length > MICRO_DIGITS) return undefined
  const micros = BigInt(whole + significant.padEnd(MICRO_DIGITS, '0'))
  return BigInt.asIntN(64, micros) === micros ? { micros: String(micros), currencyCode: currency } : undefined
}

const MICRO_DIGITS = 6

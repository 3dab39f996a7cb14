import type { Card, CardField } from '../../core/rules/display/card.ts'
import { kindOf } from './resource.ts'
import { firstText } from './values.ts'

const MAX_ROWS = 3
const MAX_ITEMS = 3

/** The field that a generic pass shows in large, as its header, and nowhere else. */
export function titleField(card: Card): CardField | undefined {
  return kindOf(card) === 'generic' ? card.fields.primary[0] : undefined
}

/** Every field with a value as a text module, in the order of the card; undefined where there is none. */
export function textModules(card: Card) {
  const modules = [...frontGroups(card), card.fields.back]
    .flat()
    .filter(({ value }) => firstText(value) !== undefined)
    .map(({ key, label, value }) => ({ id: key, ...(firstText(label) && { header: label }), body: value }))
  return modules.length > 0 ? modules : undefined
}

/**
 * The rows on the front of the card: three at most, of three fields at most. What finds no place stands in the details.
 * Built from keys, not values, since one class serves every pass of a template.
 */
export function templateInfo(card: Card) {
  const rows = frontGroups(card).flatMap(inThrees).slice(0, MAX_ROWS).map(row)
  return rows.length > 0 ? { cardTemplateOverride: { cardRowTemplateInfos: rows } } : undefined
}

function frontGroups(card: Card): CardField[][] {
  const { header, primary, secondary, auxiliary } = card.fields
  const title = titleField(card)
  return [header, primary.filter((field) => field !== title), secondary, auxiliary]
}

function inThrees(fields: CardField[]): CardField[][] {
  const count = Math.ceil(fields.length / MAX_ITEMS)
  return Array.from({ length: count }, (_, index) => fields.slice(index * MAX_ITEMS, (index + 1) * MAX_ITEMS))
}

function row(fields: CardField[]) {
  const [first, second, third] = fields.map(({ key }) => ({
    firstValue: { fields: [{ fieldPath: `object.textModulesData['${key}']` }] },
  }))
  if (third) return { threeItems: { startItem: first, middleItem: second, endItem: third } }
  if (second) return { twoItems: { startItem: first, endItem: second } }
  return { oneItem: { item: first } }
}

import { fieldGroups } from '../../contract/definition.ts'
import type { Card } from '../display/card.ts'

/** What a notification holds. */
const MAX_LENGTH = 1000

/**
 * What iPhones announce of a change, as one text: of each field that has another value now, its changeMessage with that
 * value. undefined where no field with a changeMessage changed; one that is new or empty now announces nothing.
 */
export function announcementOf(before: Pick<Card, 'fields'>, after: Pick<Card, 'fields'>): string | undefined {
  const lines = fieldGroups.flatMap((group) => {
    const values = new Map(before.fields[group].map(({ key, value }) => [key, value]))
    return after.fields[group].flatMap(({ key, value, changeMessage }) => {
      const isAnnounced = values.has(key) && values.get(key) !== value && value.trim() !== ''
      return changeMessage !== undefined && isAnnounced ? [changeMessage.replaceAll('%@', () => value)] : []
    })
  })
  return lines.length > 0 ? [...lines.join('\n')].slice(0, MAX_LENGTH).join('') : undefined
}

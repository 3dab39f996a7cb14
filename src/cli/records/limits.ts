import { type LimitName, limitNames } from '../../core/rules/pass/limits.ts'
import { count, table } from '../command/output.ts'

/** The name of a limit as a flag has it: storedBytes is stored-bytes. */
export function limitFlag(name: LimitName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Each limit of a workspace with what is used of it, as far as that is known. */
export function showLimits(
  limits: Record<LimitName, number>,
  usage: Partial<Record<LimitName, number>>,
  width: number | undefined,
): string {
  return table(
    limitNames,
    [
      { title: 'Limit', value: limitFlag },
      { title: 'Used', value: (name) => (usage[name] === undefined ? '' : count(usage[name])) },
      { title: 'Allowed', value: (name) => count(limits[name]) },
      { title: '%', value: (name) => share(usage[name], limits[name]) },
    ],
    { width },
  )
}

function share(used: number | undefined, allowed: number): string {
  return used === undefined || allowed === 0 ? '' : String(Math.floor((100 * used) / allowed))
}

import type { Page } from '../../core/contract/common.ts'
import type { ListPage } from '../../storage/db/list.ts'

/** The page envelope (spec 4.1). */
export function toPage<T>({ rows, ...page }: ListPage<T>): Page<T> {
  return { items: rows, ...page }
}

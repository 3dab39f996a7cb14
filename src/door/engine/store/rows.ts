import type { Meta, Table, Transaction } from './engine-store.ts'

export async function metaOf<K extends keyof Meta>(tx: Transaction, name: K): Promise<Meta[K] | undefined> {
  return (await tx.get('meta', name))?.value as Meta[K] | undefined
}

export function setMeta<K extends keyof Meta>(tx: Transaction, name: K, value: Meta[K]): Promise<void> {
  return tx.put('meta', [{ name, value }])
}

export function removeSeqs(tx: Transaction, table: Table, rows: readonly { seq?: number }[]): Promise<void> {
  return tx.remove(
    table,
    rows.map(({ seq }) => seq!),
  )
}

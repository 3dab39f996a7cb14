/** This list has a separate module, so that the command line does not load the contract's schemas. */
export const passFilterNames = [
  'externalPassId',
  'search',
  'projectId',
  'templateId',
  'groupKey',
  'joinSlug',
  'joinSource',
  'variable',
  'validOn',
  'redeemed',
  'redeemedContext',
  'installed',
  'platform',
  'stale',
  'label',
  'labelMatch',
  'revision',
  'templateVersion',
  'createdFrom',
  'createdTo',
  'createdSince',
  'createdUntil',
] as const

/**
 * Returns a filter in the notation of the command line: name=value, separated by spaces. Values with spaces are quoted.
 */
export function describeFilter(filter: Record<string, string | string[] | undefined>): string {
  const written = (value: string) => (/[\s"]/.test(value) ? JSON.stringify(value) : value)
  const pairs = Object.entries(filter).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}=${written(value)}`),
  )
  return pairs.join(' ')
}

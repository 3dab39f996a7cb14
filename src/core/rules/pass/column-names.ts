/**
 * The name of a column as headers of files are read: whatever the case, and with spaces, underscores or hyphens where people put
 * them. Of two columns with one loose name nobody can say which is meant.
 */
export function looseName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '')
}

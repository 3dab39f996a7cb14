import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Args } from '@oclif/core'
import { withName } from '../arguments/named-file.ts'
import { UsageError } from '../command/errors.ts'
import { readAll } from './json-file.ts'
import { readTemplateFile, type TemplateFile } from './template-file.ts'

export const templateFileArgs = {
  file: Args.string({ description: 'Template files, or folders of them (*.json).', required: true }),
}

export interface TemplateFiles {
  files: TemplateFile[]
  /** More than one file is meant, however many there are. */
  isMany: boolean
}

/**
 * Reads and checks every file before anything is done with the first. Of several, each must say by its key which template
 * it is.
 * @throws CliError
 */
export async function readTemplateFiles(paths: readonly string[]): Promise<TemplateFiles> {
  const expanded = await Promise.all(paths.map(expand))
  const isMany = paths.length > 1 || expanded.some(({ isFolder }) => isFolder)
  const files = await readAll(expanded.flatMap(({ paths }) => paths).map(readTemplateFile))
  if (isMany) requireKeys(files)
  return { files, isMany }
}

async function expand(path: string): Promise<{ paths: string[]; isFolder: boolean }> {
  const isFolder = (await withName(path, () => stat(path))).isDirectory()
  if (!isFolder) return { paths: [path], isFolder }
  const paths = await listJsonFiles(path)
  if (paths.length === 0) throw new UsageError(`${path} holds no template file (*.json)`)
  return { paths, isFolder }
}

/** The files *.json of a folder, by name. */
export async function listJsonFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  return names.map((name) => join(folder, name))
}

/** @throws UsageError where a file has no key, or two have one */
export function requireKeys(files: readonly TemplateFile[]): void {
  const byKey = new Map<string, string>()
  for (const { path, key } of files) {
    if (key === undefined) throw new UsageError(`${path} has no key`, { hint: 'write "key": "…" beside its name.' })
    const other = byKey.get(key)
    if (other) throw new UsageError(`${path} and ${other} have the same key ${key}`)
    byKey.set(key, path)
  }
}

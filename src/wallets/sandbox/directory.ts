/**
 * Where the emulators of a server are: what it answers at `{publicUrl}/sandbox` while a platform is sandboxed, and where
 * virtual phones start from. A platform that is real, or not configured, is null.
 */
export interface SandboxDirectory {
  /** `control` is where phones get push tokens and hear pushes; `rootPem` is the root that they trust. */
  apple: { control: string; rootPem: string } | null
  google: { url: string } | null
}

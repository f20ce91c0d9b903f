fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let stem = std::path::Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned();
    let (out, plans) = transcript::repair_bytes(&bytes, Some(&stem)).unwrap();
    for (i, plan) in plans.iter().enumerate() {
        for f in &plan.findings { eprintln!("round {i} {:?} rows {:?} {} / {}", f.class, f.rows, f.loses, f.repair); }
        for c in &plan.changes { eprintln!("   {} row {} {} {:?} -> {:?}", c.class.id(), c.row, c.what, c.before.as_deref().map(|s| &s[..s.len().min(60)]), c.after.as_deref().map(|s| &s[..s.len().min(60)])); }
    }
    if std::env::args().nth(2).is_none() { std::fs::write(&path, out).unwrap(); }
}

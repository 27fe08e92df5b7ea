//! A server of files on loopback.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    thread,
};

/// Serves a directory until the process ends, and returns its URL.
pub fn serve(directory: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let directory = directory.to_owned();
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &directory)));
    url
}

fn answer(mut stream: TcpStream, directory: &Path) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let path: PathBuf = request[0].split(' ').nth(1).unwrap().trim_start_matches('/').into();
    let (status, body) = match fs::read(directory.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}
